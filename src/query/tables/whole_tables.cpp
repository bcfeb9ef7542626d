#include "query/tables/whole_tables.h"

#include "model/ledger/ledger.h"
#include "query/scan/columns.h"

namespace tidegauge::query {
namespace {

using analysis::GpuSum;
using analysis::GpuUse;
using analysis::HeldSum;
using analysis::ProcessSum;
using analysis::WholeRecording;

static_assert(model::kNotRecorded == kNull, "what is not known is NULL as it is");

Whole orNothing(const Whole& whole) {
  static const Whole kNothing = [] {
    auto nothing = std::make_shared<WholeRecording>();
    nothing->run = std::make_shared<const model::RecordedRun>();
    return nothing;
  }();
  return whole && whole->run ? whole : kNothing;
}

// The rows of one list of a WholeRecording, which the columns keep alive.
template <class One>
class RowsOf {
 public:
  RowsOf(const Whole& whole, std::vector<One> WholeRecording::*list, const char* name,
         const char* doc)
      : whole_(orNothing(whole)),
        list_(list),
        table_(recordingTable(name, doc, ((*whole_).*list_).size(), true)) {}

  template <class KeyOf>
  void number(const char* name, const char* doc, KeyOf key_of,
              ColumnKind kind = ColumnKind::kInteger) {
    add(table_, kind, name, doc, eachRow([whole = whole_, list = list_, key_of](Row row) {
          return int64_t{key_of(((*whole).*list)[row])};
        }));
  }
  template <class BytesOf>
  void bytes(const char* name, const char* doc, BytesOf bytes_of) {
    number(
        name, doc, [bytes_of](const One& one) { return keyOfBytes(bytes_of(one)); },
        ColumnKind::kBytes);
  }
  // An empty text is NULL.
  template <class TextOf>
  void text(const char* name, const char* doc, TextOf text_of) {
    auto fill = eachRow([whole = whole_, list = list_, text_of](Row row) {
      return text_of(((*whole).*list)[row]).empty() ? kNull : static_cast<int64_t>(row);
    });
    addMadeText(table_, name, doc, fill, [whole = whole_, list = list_, text_of](int64_t row) {
      return std::string(text_of(((*whole).*list)[static_cast<size_t>(row)]));
    });
  }
  Table take() { return std::move(table_); }

 private:
  Whole whole_;
  std::vector<One> WholeRecording::*list_;
  Table table_;
};

uint64_t orUnknown(const std::optional<uint64_t>& bytes) {
  return bytes.value_or(model::kUnknownBytes);
}

}  // namespace

Table allProcessesTable(const Whole& whole) {
  RowsOf<ProcessSum> rows(whole, &WholeRecording::processes, "all_processes",
                          "Every process of the recording that called for memory, launched or "
                          "copied, with its sums.");
  rows.number("process_id", "row of processes", [](auto& p) { return p.process_id; });
  rows.number("pid", "", [](auto& p) { return p.pid; });
  rows.text(
      "name", "as the kernel has it", [](auto& p) -> auto& { return p.name; });
  rows.text(
      "command", "its command line; NULL: not known", [](auto& p) -> auto& { return p.command; });
  rows.number("began_ns", "seen from here on, ns since the epoch",
              [](auto& p) { return p.began_ns; });
  rows.number("ended_ns", "NULL: it ran on", [](auto& p) { return p.ended_ns; });
  rows.number("exit_status", "as wait() gives it; NULL: it ran on, or ran another program",
              [](auto& p) { return p.exit_status; });
  rows.text(
      "end_reason", "exit, exec; NULL: it ran on", [](auto& p) -> auto& { return p.end_reason; });
  rows.bytes("peak_bytes", "most at once from the driver; of several GPUs their peaks, added",
             [](auto& p) { return p.peak_bytes; });
  rows.bytes("live_bytes", "held when it ended, or after the last call if it ran on",
             [](auto& p) { return p.live_bytes; });
  rows.bytes("block_live_bytes", "of that, blocks of the framework",
             [](auto& p) { return p.block_live_bytes; });
  rows.bytes("host_peak_bytes", "most at once of pinned and registered host memory",
             [](auto& p) { return p.host_peak_bytes; });
  rows.bytes("host_live_bytes", "of that, held at the end",
             [](auto& p) { return p.host_live_bytes; });
  rows.bytes("initial_bytes", "of the GPUs, there before its first call of this file",
             [](auto& p) { return p.initial_bytes; });
  rows.number("at_least", "1: memory older than the recording is known in part only",
              [](auto& p) { return int64_t{p.at_least}; });
  auto count = [](uint64_t value) { return keyOfBytes(value); };
  rows.number("refused", "calls for memory that were refused",
              [count](auto& p) { return count(p.refused); });
  rows.number("launches", "of kernels", [count](auto& p) { return count(p.launches); });
  rows.number("copies", "that succeeded", [count](auto& p) { return count(p.copies); });
  rows.bytes("copied_bytes", "of all of them", [](auto& p) { return p.copied_bytes; });
  rows.number("copy_failures", "copies that failed",
              [count](auto& p) { return count(p.copy_failures); });
  rows.text(
      "incomplete", "which of its figures are incomplete: \"memory,launches\"",
      [](auto& p) -> auto& { return p.incomplete; });
  return rows.take();
}

Table allHeldTable(const Whole& whole) {
  RowsOf<HeldSum> rows(whole, &WholeRecording::held, "all_held",
                       "Memory that each process had not freed when it ended "
                       "(or after the last call, if it kept running), by "
                       "device and kind: held_at_end of all processes.");
  rows.number("process_id", "row of processes", [](auto& h) { return h.process_id; });
  rows.number("pid", "", [](auto& h) { return h.pid; });
  rows.number("device", "NULL: not known, or memory of the host",
              [](auto& h) { return h.device < 0 ? kNull : int64_t{h.device}; });
  rows.text("kind", "device, managed, pinned host, pool, …; block: of the framework",
            [](auto& h) { return model::name(h.kind); });
  rows.text("memory", "device, host or framework; add up bytes of one of them only",
            [](auto& h) -> std::string_view {
              if (h.kind == model::MemoryKind::kBlock) return "framework";
              return model::isHostMemory(h.kind) ? "host" : "device";
            });
  rows.bytes("bytes", "as asked for", [](auto& h) { return h.bytes; });
  rows.number("count", "allocations", [](auto& h) { return keyOfBytes(h.count); });
  return rows.take();
}

Table gpusTable(const Whole& whole) {
  RowsOf<GpuSum> rows(whole, &WholeRecording::gpus, "gpus",
                      "GPUs that the driver reports (NVML), asked once a second.");
  rows.number("device", "as NVML numbers them, by bus: maybe not as CUDA does",
              [](auto& g) { return g.device; });
  rows.text(
      "name", "", [](auto& g) -> auto& { return g.name; });
  rows.text(
      "uuid", "", [](auto& g) -> auto& { return g.uuid; });
  rows.bytes("total_bytes", "memory of the device; NULL: not known",
             [](auto& g) { return orUnknown(g.total_bytes); });
  rows.bytes("peak_used_bytes", "most used of it, by whomever; NULL: it did not say",
             [](auto& g) { return orUnknown(g.peak_used_bytes); });
  rows.number("peak_ns", "when, ns since the epoch", [](auto& g) { return g.peak_ns; });
  rows.bytes(
      "peak_by_processes_bytes", "of that, by processes that it named: see gpu_processes",
      [](auto& g) { return g.peak_used_bytes ? g.by_processes_bytes : model::kUnknownBytes; });
  rows.bytes("peak_free_bytes", "free then", [](auto& g) {
    bool is_known = g.total_bytes && g.peak_used_bytes && *g.total_bytes >= *g.peak_used_bytes;
    return is_known ? *g.total_bytes - *g.peak_used_bytes : model::kUnknownBytes;
  });
  rows.bytes("last_used_bytes", "used when it was last asked",
             [](auto& g) { return orUnknown(g.last_used_bytes); });
  return rows.take();
}

Table gpuProcessesTable(const Whole& whole) {
  RowsOf<GpuUse> rows(whole, &WholeRecording::gpu_uses, "gpu_processes",
                      "Processes on each GPU at its peak use (gpus.peak_ns), as the driver "
                      "reports them, beside the memory that recorded calls had allocated.");
  rows.number("device", "row of gpus", [](auto& u) { return u.device; });
  rows.number("pid", "", [](auto& u) { return u.pid; });
  rows.number("process_id", "row of processes; NULL: it was not recorded",
              [](auto& u) { return u.process_id; });
  rows.text(
      "name", "NULL: it was not recorded", [](auto& u) -> auto& { return u.name; });
  rows.bytes("used_bytes", "by the driver", [](auto& u) { return u.used_bytes; });
  rows.bytes("recorded_bytes",
             "handed out to it by calls and live then; NULL: not recorded, on several GPUs, or "
             "with managed memory, which may lie elsewhere",
             [](auto& u) { return orUnknown(u.recorded_bytes); });
  rows.bytes("untracked_bytes",
             "the difference: contexts, modules and memory without a recorded call; NULL: unknown",
             [](auto& u) {
               bool is_more = u.recorded_bytes && u.used_bytes >= *u.recorded_bytes;
               return is_more ? u.used_bytes - *u.recorded_bytes : model::kUnknownBytes;
             });
  return rows.take();
}

Table partTable(const Whole& whole) {
  Whole all = orNothing(whole);
  Table table = recordingTable(
      "part",
      "Which part this file is of a recording that is kept below a size (--max-size): one row, "
      "none of a whole one.",
      all->run->part.number > 0 ? 1 : 0, true);
  auto number = [&](const char* name, const char* doc, auto key_of) {
    add(table, ColumnKind::kInteger, name, doc,
        eachRow([all, key_of](Row) { return int64_t{key_of(all->run->part)}; }));
  };
  number("number", "from 1", [](auto& part) { return part.number; });
  addMadeText(table, "continues", "name of the file that the part before got; NULL: the first",
              eachRow([all](Row row) {
                return all->run->part.continues.empty() ? kNull : static_cast<int64_t>(row);
              }),
              [all](int64_t) { return all->run->part.continues; });
  number("began_ns", "the end of the part before, ns since the epoch; NULL: nothing was carried in",
         [](auto& part) { return part.began_ns.value_or(kNull); });
  number("carried_calls", "rows that say what was live by then, and are no calls of this part",
         [](auto& part) { return part.carried_calls; });
  return table;
}

Table deviceMemoryTable(const Whole& whole) {
  Whole all = orNothing(whole);
  Table table = recordingTable("device_memory",
                               "Used bytes of each GPU as the driver reports them "
                               "(NVML), asked once a second: a row for each change.",
                               all->run->device_memory.size(), true);
  auto column = [&](const char* name, const char* doc, auto key_of,
                    ColumnKind kind = ColumnKind::kInteger) {
    add(table, kind, name, doc,
        eachRow([all, key_of](Row row) { return int64_t{key_of(all->run->device_memory, row)}; }));
  };
  column("time_ns", "ns since the epoch", [](auto& m, Row row) { return m.time_ns[row]; });
  column("device", "row of gpus", [](auto& m, Row row) { return m.device[row]; });
  column("pid", "NULL: the whole device", [](auto& m, Row row) { return m.pid[row]; });
  column(
      "used_bytes", "0: the process has gone",
      [](auto& m, Row row) { return keyOfBytes(m.used_bytes[row]); }, ColumnKind::kBytes);
  return table;
}

}  // namespace tidegauge::query
