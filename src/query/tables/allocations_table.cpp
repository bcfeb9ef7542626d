#include "query/scan/columns.h"
#include "query/scan/stack_text.h"
#include "query/tables/tables.h"

namespace tidegauge::query {
namespace {

using model::kNoStep;
using model::Provenance;
using model::Step;

Step allocStep(const model::Allocations& a, Row row) {
  return a.has(row, model::kAllocSeen) ? a.first_step[row] : kNoStep;
}
Step freeCompletedStep(const model::Allocations& a, Row row) {
  return a.has(row, model::kFreeCompletedSeen) ? a.last_step[row] : kNoStep;
}
Step freeStep(const model::Allocations& a, Row row) {
  Step completed = freeCompletedStep(a, row);
  return completed != kNoStep ? completed : a.free_requested_step[row];
}

// The time of a step of the row's device.
template <class StepOf>
Fill timeOf(const model::Trace& trace, const Table& table, StepOf step_of) {
  if (trace.events.time_us.empty()) return nulls();
  return [&trace, devices = table.devices, step_of](const Row* rows, size_t count, int64_t* keys) {
    DeviceFinder deviceOf(devices);
    for (size_t i = 0; i < count; ++i) {
      const model::Device& device = trace.devices[deviceOf(rows[i])];
      Step step = step_of(trace.allocations, rows[i]);
      keys[i] = step == kNoStep ? kNull : trace.events.time_us[device.event_begin + step];
    }
  };
}

template <class F>
Fill ofRow(const model::Allocations& a, F f) {
  return eachRow([&a, f](Row row) { return keyOfStep(f(a, row)); });
}

Fill flag(const model::Allocations& a, model::AllocationFlag flag) {
  return eachRow([&a, flag](Row row) { return int64_t{a.has(row, flag)}; });
}

void addSteps(Table& table, const model::Allocations& a) {
  Column& alloc = add(table, ColumnKind::kStep, "alloc_step", "of the alloc event; NULL: not seen",
                      ofRow(a, allocStep));
  alloc.sorted = Sorted::kWithinDevices;
  alloc.narrow = storedSteps(a.first_step);
  alloc.distinct = table.rows;
  add(table, ColumnKind::kStep, "free_requested_step", "the program freed it; NULL: never seen",
      storedSteps(a.free_requested_step))
      .distinct = table.rows;
  add(table, ColumnKind::kStep, "free_completed_step",
      "the block could be used again; NULL: never seen", ofRow(a, freeCompletedStep))
      .distinct = table.rows;
}

std::vector<std::string> categoryNames() {
  std::vector<std::string> names;
  for (size_t i = 0; i < analysis::kCategories; ++i) {
    names.emplace_back(analysis::name(static_cast<analysis::Category>(i)));
  }
  return names;
}

}  // namespace

Table allocationsTable(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  const model::Allocations& a = trace.allocations;
  Table table;
  table.name = "allocations";
  table.doc = "One row per life of a block, from alloc to free, with what is older or lost.";
  setDeviceRows(table, trace, &model::Device::allocation_begin, &model::Device::allocation_end);
  addId(table, "in drawing order: bottom of the timeline first, device by device");
  addDevice(table);
  add(table, ColumnKind::kInteger, "address", "see address_id(address, version)",
      storedAddresses(a.address))
      .distinct = table.rows / 4 + 1;
  add(table, ColumnKind::kInteger, "version", "PyTorch's n in b7f…_n: nth life of the address",
      stored(a.version, [](uint32_t v) { return int64_t{v}; }));
  add(table, ColumnKind::kBytes, "requested_bytes", "what the program asked for",
      storedBytes(a.requested_bytes));
  add(table, ColumnKind::kBytes, "block_bytes", "what the allocator set aside for it",
      storedBytes(a.block_bytes));
  add(table, ColumnKind::kInteger, "block_bytes_inferred",
      "1: computed from requested_bytes, 0: read from the file", flag(a, model::kBlockInferred));
  addReference(table, "stream", "→ streams.id", storedIds(a.stream), trace.streams.size());
  addReference(table, "pool", "→ pools.id", storedIds(a.pool), trace.pools.size());
  addReference(table, "segment_id", "→ segments.id; NULL: in no known segment",
               storedIds(a.segment), trace.segments.size());
  addReference(table, "stack_id", "→ stacks.id: of the alloc, or of the free if that is all",
               storedIds(a.stack), trace.stacks.size());
  addSteps(table, a);
  add(table, ColumnKind::kTime, "alloc_time_us", "time of alloc_step",
      timeOf(trace, table, allocStep));
  add(table, ColumnKind::kTime, "free_time_us",
      "time of free_completed_step, else of free_requested_step", timeOf(trace, table, freeStep));
  addEnum(table, "provenance",
          "traced, before_recording, lost (one end was overwritten), ghost (final state only)",
          stored(a.provenance, [](Provenance p) { return static_cast<int64_t>(p); }),
          namesUpTo(Provenance::kGhost));
  addPoolText(table, "stated_category", "as the file itself says it, if it does",
              storedIds(a.category), trace.strings);
  addEnum(table, "category", "what it is for, by the category rules: parameters, activations, …",
          eachRow([&categories = *analysed.categories](Row row) {
            return static_cast<int64_t>(categories.of(static_cast<uint32_t>(row)));
          }),
          categoryNames());
  Column& first =
      add(table, ColumnKind::kStep, "first_step",
          "live after step s: first_step <= s and s < last_step", storedSteps(a.first_step));
  first.sorted = Sorted::kWithinDevices;
  first.distinct = table.rows;
  add(table, ColumnKind::kStep, "last_step", "end of the life; number of events: live to the end",
      storedSteps(a.last_step));
  Column& text = addStackText(table, "stack_text", analysed, storedIds(a.stack));
  text.doc = "the stack as text, for WHERE stack_text LIKE '%…%'; not part of SELECT *";
  text.hidden = true;
  return table;
}

}  // namespace tidegauge::query
