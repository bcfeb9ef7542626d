#include <algorithm>

#include "model/pinned_requests.h"
#include "model/tensors/tensors.h"
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
  Column& alloc = add(table, ColumnKind::kStep, "alloc_step",
                      "step of the alloc event; NULL: not in the file", ofRow(a, allocStep));
  alloc.sorted = Sorted::kWithinDevices;
  alloc.narrow = storedSteps(a.first_step).fill;
  alloc.distinct = table.rows;
  add(table, ColumnKind::kStep, "free_requested_step",
      "step at which the program freed it; NULL: not in the file",
      storedSteps(a.free_requested_step))
      .distinct = table.rows;
  add(table, ColumnKind::kStep, "free_completed_step",
      "step from which the block could be reused; NULL: not in the file",
      ofRow(a, freeCompletedStep))
      .distinct = table.rows;
}

// The stated requests, where they are the program's own (pinned_requests.h): one bound of those
// that are not, or NULL.
Filled requestColumn(const model::Trace& trace, uint64_t model::RequestRange::*bound,
                     bool null_if_unknown) {
  const std::vector<uint64_t>& stated_bytes = trace.allocations.requested_bytes;
  bool all_known = std::all_of(trace.devices.begin(), trace.devices.end(),
                               [](const model::Device& d) { return d.knows_requests; });
  if (all_known) return storedBytes(stated_bytes);
  return eachRow([&trace, bound, null_if_unknown](Row row) {
    const model::Device& device =
        trace.deviceOfAllocation(model::AllocationId(static_cast<uint32_t>(row)));
    model::RequestRange range =
        model::requestOf(trace, device, trace.allocations.requested_bytes[row]);
    return null_if_unknown && !range.isKnown() ? kNull : keyOfBytes(range.*bound);
  });
}

std::vector<std::string> categoryNames() {
  std::vector<std::string> names;
  for (size_t i = 0; i < analysis::kCategories; ++i) {
    names.emplace_back(analysis::name(static_cast<analysis::Category>(i)));
  }
  return names;
}

// The name of the tensor that a block is called by.
Fill tensorNames(const model::Trace& trace) {
  if (!trace.tensors) return nulls();
  return eachRow([&trace](Row row) {
    auto tensor = model::mainTensor(trace, model::AllocationId(static_cast<uint32_t>(row)));
    return tensor ? keyOf(trace.tensors->name[*tensor]) : kNull;
  });
}

}  // namespace

Table allocationsTable(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  const model::Allocations& a = trace.allocations;
  Table table;
  table.name = "allocations";
  table.doc =
      "One row per allocation, from alloc to free. Includes allocations from before the recording "
      "and those with a missing event.";
  setDeviceRows(table, trace, &model::Device::allocation_begin, &model::Device::allocation_end);
  addId(table, "drawing order of the timeline: device by device, from the bottom up");
  addDevice(table);
  add(table, ColumnKind::kInteger, "address", "see address_id(address, version)",
      storedAddresses(a.address))
      .distinct = table.rows / 4 + 1;
  add(table, ColumnKind::kInteger, "version",
      "n in PyTorch's name b7f…_n: the nth allocation at this address",
      stored(a.version, [](uint32_t v) { return int64_t{v}; }));
  add(table, ColumnKind::kBytes, "requested_bytes",
      "bytes that the program requested; NULL: unknown (pinned host memory, of which the file "
      "states rounded sizes)",
      requestColumn(trace, &model::RequestRange::least_bytes, true));
  add(table, ColumnKind::kBytes, "requested_least_bytes",
      "the same, or the least that it can be if it is unknown",
      requestColumn(trace, &model::RequestRange::least_bytes, false));
  add(table, ColumnKind::kBytes, "requested_most_bytes", "the most that it can be",
      storedBytes(a.requested_bytes));
  add(table, ColumnKind::kBytes, "block_bytes", "size of the block that serves the request",
      storedBytes(a.block_bytes));
  add(table, ColumnKind::kInteger, "block_bytes_inferred",
      "1: computed from requested_bytes, 0: read from the file", flag(a, model::kBlockInferred));
  addReference(table, "stream", "→ streams.id", storedIds(a.stream), trace.streams.size());
  addReference(table, "pool", "→ pools.id", storedIds(a.pool), trace.pools.size());
  addReference(table, "segment_id", "→ segments.id; NULL: in no known segment",
               storedIds(a.segment), trace.segments.size());
  addReference(
      table, "stack_id",
      "→ stacks.id: stack of the alloc event, or of the free event if there is no alloc event",
      storedIds(a.stack), trace.stacks.size());
  addSteps(table, a);
  add(table, ColumnKind::kTime, "alloc_time_us", "time of alloc_step",
      timeOf(trace, table, allocStep));
  add(table, ColumnKind::kTime, "free_time_us",
      "time of free_completed_step, or of free_requested_step if there is none",
      timeOf(trace, table, freeStep));
  addEnum(table, "provenance",
          "traced, before_recording, lost (one end is missing), ghost (only in the final state)",
          stored(a.provenance, [](Provenance p) { return static_cast<int64_t>(p); }),
          namesUpTo(Provenance::kGhost));
  addPoolText(table, "stated_category", "category that the file itself states; NULL: none",
              storedIds(a.category), trace.strings);
  addEnum(
      table, "category",
      "what the memory is for: parameters, activations, …; by the tensor that the program named, "
      "else as stated, else by the category rules",
      eachRow([&categories = *analysed.categories](Row row) {
        return static_cast<int64_t>(categories.of(static_cast<uint32_t>(row)));
      }),
      categoryNames());
  Column& first =
      add(table, ColumnKind::kStep, "first_step",
          "live after step s: first_step <= s and s < last_step", storedSteps(a.first_step));
  first.sorted = Sorted::kWithinDevices;
  first.distinct = table.rows;
  add(table, ColumnKind::kStep, "last_step",
      "step from which it is no longer live; number of events: live to the end",
      storedSteps(a.last_step));
  Column& tensor = addPoolText(
      table, "tensor",
      "name of the tensor in it, if the program named one: the parameter, or else the first of "
      "tensors; NULL: none; not part of SELECT *",
      tensorNames(trace), trace.strings);
  tensor.distinct = trace.tensors ? trace.tensors->by_allocation.size() + 1 : 1;
  tensor.hidden = true;
  Column& text = addStackText(table, "stack_text", analysed, storedIds(a.stack));
  text.doc = "the stack as text, for WHERE stack_text LIKE '%…%'; not part of SELECT *";
  text.hidden = true;
  return table;
}

}  // namespace tidegauge::query
