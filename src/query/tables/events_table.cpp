#include "query/scan/columns.h"
#include "query/tables/tables.h"

namespace tidegauge::query {
namespace {

using model::Action;

bool isAboutSegments(Action action) {
  return action >= Action::kSegmentAlloc && action <= Action::kSegmentUnmap;
}

std::vector<std::string> actionNames(const model::Trace& trace) {
  std::vector<std::string> names;
  size_t count = static_cast<size_t>(Action::kFirstUnknown) + trace.unknown_actions.size();
  for (size_t i = 0; i < count; ++i) {
    names.emplace_back(trace.actionName(static_cast<Action>(i)));
  }
  return names;
}

Fill allocationOf(const model::Events& events) {
  return eachRow([&events](Row row) {
    uint32_t subject = events.subject[row];
    bool about_block = !isAboutSegments(events.action[row]);
    return about_block && subject != model::AllocationId::kNone ? int64_t{subject} : kNull;
  });
}

Fill segmentOf(const model::Trace& trace) {
  return eachRow([&events = trace.events, &segment = trace.allocations.segment](Row row) {
    uint32_t subject = events.subject[row];
    if (subject == model::SegmentId::kNone) return kNull;
    return isAboutSegments(events.action[row]) ? int64_t{subject} : keyOf(segment[subject]);
  });
}

Fill stepsOf(const Table& table) {
  return [devices = table.devices](const Row* rows, size_t count, int64_t* keys) {
    DeviceFinder deviceOf(devices);
    for (size_t i = 0; i < count; ++i) {
      keys[i] = static_cast<int64_t>(rows[i] - devices[deviceOf(rows[i])].begin);
    }
  };
}

bool timesAscend(const model::Trace& trace) {
  const std::vector<int64_t>& times = trace.events.time_us;
  if (times.empty()) return false;
  return std::all_of(trace.devices.begin(), trace.devices.end(), [&](const model::Device& d) {
    return std::is_sorted(times.begin() + static_cast<ptrdiff_t>(d.event_begin),
                          times.begin() + static_cast<ptrdiff_t>(d.event_end));
  });
}

}  // namespace

Table eventsTable(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  const model::Events& events = trace.events;
  Table table;
  table.name = "events";
  table.doc = "One row per recorded action of the allocator.";
  setDeviceRows(table, trace, &model::Device::event_begin, &model::Device::event_end);
  addDevice(table);
  Column& step = add(table, ColumnKind::kStep, "step",
                     "index within the device; (device, step) names an event", stepsOf(table));
  step.sorted = Sorted::kWithinDevices;
  step.distinct = table.rows;
  table.natural_order = {0, 1};
  addEnum(table, "action",
          "alloc, free_requested, free_completed, segment_alloc, segment_free, segment_map, "
          "segment_unmap, oom, snapshot, …",
          stored(events.action, [](Action a) { return static_cast<int64_t>(a); }),
          actionNames(trace));
  Column& address =
      add(table, ColumnKind::kInteger, "address", "address of the block or segment; NULL for oom",
          eachRow([&events](Row row) {
            return events.action[row] == Action::kOom ? kNull : keyOfAddress(events.address[row]);
          }));
  address.distinct = table.rows / 16 + 1;
  add(table, ColumnKind::kBytes, "size_bytes",
      "requested bytes; for oom: the rounded request; for snapshot: active bytes as stated in the "
      "file; NULL: unknown (oom and snapshot only)",
      storedBytes(events.size_bytes));
  add(table, ColumnKind::kBytes, "device_free_bytes",
      "for oom: free bytes as reported by the driver", eachRow([&events](Row row) {
        return events.action[row] == Action::kOom ? keyOfBytes(events.address[row]) : kNull;
      }));
  addReference(table, "stream", "→ streams.id", storedIds(events.stream), trace.streams.size());
  addReference(table, "pool", "→ pools.id", storedIds(events.pool), trace.pools.size());
  addReference(table, "stack_id", "→ stacks.id; NULL: no stack recorded", storedIds(events.stack),
               trace.stacks.size());
  Column& time = add(table, ColumnKind::kTime, "time_us", "µs since the epoch",
                     storedIntegers(events.time_us));
  if (timesAscend(trace)) time.sorted = Sorted::kWithinDevices;
  time.distinct = table.rows;
  addReference(table, "allocation_id", "→ allocations.id: the allocation that the event is about",
               allocationOf(events), trace.allocations.size());
  addReference(table, "segment_id", "→ segments.id: the segment, or the segment of the block",
               segmentOf(trace), trace.segments.size());
  addPoolText(table, "compile_context", "torch.compile's context",
              storedIds(events.compile_context), trace.strings);
  addPoolText(table, "metadata", "text that the program attached", storedIds(events.metadata),
              trace.strings);
  addPoolText(table, "internal_metadata",
              "text that PyTorch attached: mallocWithAddress marks a helper event of the allocator",
              storedIds(events.internal_metadata), trace.strings);
  return table;
}

}  // namespace tidegauge::query
