// segments, pieces, blocks.
#include "model/pinned_requests.h"
#include "query/scan/columns.h"
#include "query/tables/tables.h"

namespace tidegauge::query {
namespace {

using model::Action;
using model::Device;

// The step, if its event is one of the two actions on that segment; NULL if the end was not seen.
Fill seenStep(const model::Trace& trace, const Table& table, const std::vector<model::Step>& steps,
              Action one, Action other) {
  return [&trace, devices = table.devices, &steps, one, other](const Row* rows, size_t count,
                                                               int64_t* keys) {
    DeviceFinder deviceOf(devices);
    for (size_t i = 0; i < count; ++i) {
      keys[i] = kNull;
      const Device& device = trace.devices[deviceOf(rows[i])];
      if (steps[rows[i]] >= device.steps()) continue;
      size_t event = device.event_begin + steps[rows[i]];
      Action action = trace.events.action[event];
      bool seen = (action == one || action == other) && trace.events.subject[event] == rows[i];
      if (seen) keys[i] = steps[rows[i]];
    }
  };
}

}  // namespace

Table segmentsTable(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  const model::Segments& s = trace.segments;
  Table table;
  table.name = "segments";
  table.doc =
      "One row per segment, from its allocation (cudaMalloc, or mapped pages) to its release.";
  setDeviceRows(table, trace, &Device::segment_begin, &Device::segment_end);
  addId(table, "");
  addDevice(table);
  add(table, ColumnKind::kInteger, "address", "", storedAddresses(s.address)).distinct = table.rows;
  add(table, ColumnKind::kBytes, "total_bytes",
      "size; expandable segments: the most bytes that were mapped at one time",
      storedBytes(s.total_bytes));
  addEnum(table, "kind", "small, large, expandable, unknown",
          stored(s.kind, [](model::SegmentKind kind) { return static_cast<int64_t>(kind); }),
          namesUpTo(model::SegmentKind::kUnknown));
  addReference(table, "stream", "→ streams.id", storedIds(s.stream), trace.streams.size());
  addReference(table, "pool",
               "→ pools.id; NULL: the segment was released before the file was written",
               storedIds(s.pool), trace.pools.size());
  addReference(table, "stack_id", "→ stacks.id", storedIds(s.stack), trace.stacks.size());
  add(table, ColumnKind::kStep, "alloc_step", "step of its allocation; NULL: before the recording",
      seenStep(trace, table, s.first_step, Action::kSegmentAlloc, Action::kSegmentMap));
  add(table, ColumnKind::kStep, "free_step",
      "step of its release; NULL: not released in the recording",
      seenStep(trace, table, s.last_step, Action::kSegmentFree, Action::kSegmentUnmap));
  addEnum(table, "provenance", "as in allocations",
          stored(s.provenance, [](model::Provenance p) { return static_cast<int64_t>(p); }),
          namesUpTo(model::Provenance::kGhost));
  add(table, ColumnKind::kStep, "first_step",
      "exists after step s: first_step <= s and s < last_step", storedSteps(s.first_step));
  add(table, ColumnKind::kStep, "last_step",
      "step from which it no longer exists; number of events: exists to the end",
      storedSteps(s.last_step));
  return table;
}

Table piecesTable(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  const model::Pieces& p = trace.pieces;
  Table table;
  table.name = "pieces";
  table.doc =
      "One row per address range of a segment and its time: an ordinary segment has one, an "
      "expandable segment has one per mapped range.";
  setDeviceRows(table, trace, &Device::piece_begin, &Device::piece_end);
  addDevice(table);
  addReference(table, "segment_id", "→ segments.id", storedIds(p.segment), trace.segments.size());
  add(table, ColumnKind::kInteger, "address", "", storedAddresses(p.address)).distinct = table.rows;
  add(table, ColumnKind::kBytes, "size_bytes", "", storedBytes(p.size_bytes));
  add(table, ColumnKind::kStep, "first_step",
      "exists after step s: first_step <= s and s < last_step", storedSteps(p.first_step));
  add(table, ColumnKind::kStep, "last_step",
      "step from which it no longer exists; number of events: exists to the end",
      storedSteps(p.last_step));
  return table;
}

std::vector<DeviceBlocks> finalBlocks(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  const model::FinalBlocks& final = trace.final_blocks;
  std::vector<DeviceBlocks> result;
  for (const Device& device : trace.devices) {
    DeviceBlocks& share = result.emplace_back();
    share.device = device.ordinal;
    for (uint64_t s = device.final_segment_begin; s < device.final_segment_end; ++s) {
      for (uint64_t b = trace.final_segments.block_begin[s]; b < trace.final_segments.block_end[s];
           ++b) {
        analysis::LayoutBlock block;
        block.segment = trace.final_segments.segment[s];
        block.address = final.address[b];
        block.size_bytes = final.size_bytes[b];
        bool is_free = final.state[b] == model::BlockState::kInactive;
        block.requested_bytes =
            is_free ? 0 : model::knownRequest(trace, device, final.requested_bytes[b]);
        block.state = final.state[b];
        block.allocation = final.allocation[b];
        block.stack = final.stack[b];
        share.blocks.push_back(block);
      }
    }
  }
  return result;
}

Table blocksTable(const AnalysedTrace& analysed, const std::vector<DeviceBlocks>& by_device) {
  const model::Trace& trace = analysed.trace;
  using Block = analysis::LayoutBlock;
  auto blocks = std::make_shared<std::vector<Block>>();
  Table table;
  table.name = "blocks";
  table.doc = "One row per block and per hole of every segment in the final state of the file.";
  for (const DeviceBlocks& share : by_device) {
    table.devices.push_back({share.device, blocks->size(), blocks->size() + share.blocks.size()});
    blocks->insert(blocks->end(), share.blocks.begin(), share.blocks.end());
  }
  table.rows = blocks->size();
  auto of = [blocks](auto key_of) {
    return eachRow([blocks, key_of](Row row) { return key_of((*blocks)[row]); });
  };
  addDevice(table);
  addReference(table, "segment_id", "→ segments.id; NULL: in no known segment",
               of([](const Block& b) { return keyOf(b.segment); }), trace.segments.size());
  add(table, ColumnKind::kInteger, "address", "",
      of([](const Block& b) { return keyOfAddress(b.address); }))
      .distinct = table.rows;
  add(table, ColumnKind::kBytes, "size_bytes", "size of the block or hole",
      of([](const Block& b) { return keyOfBytes(b.size_bytes); }));
  add(table, ColumnKind::kBytes, "requested_bytes",
      "bytes that the program requested; 0 if free; NULL: unknown (pinned host memory)",
      of([](const Block& b) { return keyOfBytes(b.requested_bytes); }));
  addEnum(table, "state",
          "active_allocated, active_pending_free (freed, but a stream still uses it), inactive, "
          "unknown",
          of([](const Block& b) { return static_cast<int64_t>(b.state); }),
          namesUpTo(model::BlockState::kUnknown));
  addReference(table, "allocation_id", "→ allocations.id; NULL if free",
               of([](const Block& b) { return keyOf(b.allocation); }), trace.allocations.size());
  addReference(table, "stack_id", "→ stacks.id", of([](const Block& b) { return keyOf(b.stack); }),
               trace.stacks.size());
  return table;
}

}  // namespace tidegauge::query
