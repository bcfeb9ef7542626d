// refused, held_at_end: facts that follow from the calls of a recording, beside the trace. Empty
// for snapshots.
#include "model/call_words.h"
#include "model/ledger/ledger.h"
#include "model/recorded_work.h"
#include "query/scan/columns.h"
#include "query/tables/tables.h"

namespace tidegauge::query {
namespace {

Fill devices(const std::vector<int32_t>& ordinals) {
  return stored(ordinals, [](int32_t device) { return device < 0 ? kNull : int64_t{device}; });
}

void addKind(Table& table, const std::vector<model::MemoryKind>& kinds) {
  addEnum(table, "kind", "device, managed, pinned host, pool, …; block: a block of the framework",
          stored(kinds, [](model::MemoryKind kind) { return static_cast<int64_t>(kind); }),
          namesUpTo(model::MemoryKind::kBlock));
}

void addStack(Table& table, const AnalysedTrace& analysed, const std::vector<model::StackId>& ids) {
  addReference(table, "stack_id", "→ stacks.id; NULL: no stack recorded", storedIds(ids),
               analysed.trace.stacks.size());
  addMadeText(table, "label", "the call site: the innermost frame of the program's own code",
              storedIds(ids), [&analysed](int64_t key) {
                return analysed.labels.label(model::StackId(static_cast<uint32_t>(key)));
              });
  addMadeText(table, "caller", "as in stacks", storedIds(ids), [&analysed](int64_t key) {
    return analysed.names.caller(model::StackId(static_cast<uint32_t>(key)));
  });
}

}  // namespace

Table refusedTable(const AnalysedTrace& analysed) {
  const model::RecordedWork& work = workOf(analysed);
  const model::RecordedRefusals& r = work.refused;
  Table table = recordingTable(
      "refused",
      "Memory calls of this process that were refused, one row per function, code, size and "
      "stack. A runtime call and the driver call inside it count once.",
      r.size());
  addProcessId(table, work);
  addPoolText(table, "function", "the function that returned the error", storedIds(r.function),
              analysed.trace.strings);
  auto codes = stored(r.code, [](int32_t code) { return int64_t{code}; });
  add(table, ColumnKind::kInteger, "code", "the code that it returned", codes);
  Fill known = stored(
      r.code, [](int32_t code) { return model::codeWords(code).empty() ? kNull : int64_t{code}; });
  addMadeText(
      table, "meaning", "meaning of the code, e.g. \"out of memory\"; NULL: see CUDA's headers",
      known,
      [](int64_t code) { return std::string(model::codeWords(static_cast<int32_t>(code))); });
  addKind(table, r.kind);
  add(table, ColumnKind::kInteger, "device", "NULL: unknown", devices(r.device));
  add(table, ColumnKind::kBytes, "size_bytes", "requested bytes; 0: the call has no size",
      storedBytes(r.size_bytes));
  addStack(table, analysed, r.stack);
  add(table, ColumnKind::kInteger, "time_ns", "time of the first such call, ns since the epoch",
      storedIntegers(r.first_ns));
  add(table, ColumnKind::kInteger, "count", "number of such calls", storedBytes(r.count));
  return table;
}

Table heldAtEndTable(const AnalysedTrace& analysed) {
  const model::RecordedWork& work = workOf(analysed);
  const model::RecordedHoldings& h = work.held;
  Table table = recordingTable(
      "held_at_end",
      "Memory that this process had not freed when it ended (or after its last call, if it still "
      "ran), one row per call site, most bytes first: memory of the driver, then the framework's "
      "blocks, which are inside it.",
      h.size());
  addProcessId(table, work);
  add(table, ColumnKind::kInteger, "device", "NULL: unknown, or host memory", devices(h.device));
  addKind(table, h.kind);
  addEnum(
      table, "memory",
      "device, host or framework; framework blocks are inside device memory, so do not add them up",
      stored(h.kind,
             [](model::MemoryKind kind) -> int64_t {
               return kind == model::MemoryKind::kBlock ? 2 : model::isHostMemory(kind) ? 1 : 0;
             }),
      {"device", "host", "framework"});
  add(table, ColumnKind::kBytes, "bytes", "requested bytes", storedBytes(h.bytes));
  add(table, ColumnKind::kInteger, "count", "number of allocations", storedBytes(h.count));
  addStack(table, analysed, h.stack);
  add(table, ColumnKind::kInteger, "oldest_ns", "time of the oldest allocation, ns since the epoch",
      storedIntegers(h.oldest_ns));
  return table;
}

}  // namespace tidegauge::query
