#include "analysis/layout/layout.h"

#include <algorithm>

namespace tidegauge::analysis {
namespace {

struct Range {
  uint64_t begin;
  uint64_t end;
  model::SegmentId segment;
};

std::vector<Range> ownedAt(const model::Trace& trace, const model::Device& device, Step step) {
  std::vector<Range> owned;
  const model::Pieces& pieces = trace.pieces;
  for (uint64_t row = device.piece_begin; row < device.piece_end; ++row) {
    if (device.steps() > 0 && (pieces.first_step[row] > step || pieces.last_step[row] <= step))
      continue;
    owned.push_back(
        {pieces.address[row], pieces.address[row] + pieces.size_bytes[row], pieces.segment[row]});
  }
  std::sort(owned.begin(), owned.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  // Touching pieces of one segment are one range: a block may lie across them.
  std::vector<Range> joined;
  for (const Range& range : owned) {
    if (!joined.empty() && joined.back().end == range.begin &&
        joined.back().segment == range.segment) {
      joined.back().end = range.end;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

}  // namespace

std::vector<LayoutBlock> blocksAt(const model::Trace& trace, const model::Device& device,
                                  const LiveIndex& live, Step step) {
  const model::Allocations& a = trace.allocations;
  if (device.steps() > 0) step = std::min(step, device.steps() - 1);
  std::vector<Range> owned = ownedAt(trace, device, step);
  std::vector<uint32_t> rows = live.liveAt(step);
  std::sort(rows.begin(), rows.end(),
            [&](uint32_t x, uint32_t y) { return a.address[x] < a.address[y]; });

  std::vector<LayoutBlock> blocks;
  size_t range = 0;
  uint64_t at = owned.empty() ? 0 : owned[0].begin;  // filled up to here inside owned[range]
  auto addFree = [&](uint64_t end) {
    if (end > at) {
      blocks.push_back({.segment = owned[range].segment, .address = at, .size_bytes = end - at});
    }
  };
  auto closeRangesBefore = [&](uint64_t address) {
    while (range < owned.size() && owned[range].end <= address) {
      addFree(owned[range].end);
      if (++range < owned.size()) at = std::max(at, owned[range].begin);
    }
  };
  for (uint32_t row : rows) {
    uint64_t address = a.address[row];
    closeRangesBefore(address);
    bool inside = range < owned.size() && owned[range].begin <= address;
    if (inside) {
      addFree(address);
      uint64_t room = owned[range].end - address;
      at = std::max(at, address + std::min(a.block_bytes[row], room));
    }
    bool pending = a.free_requested_step[row] <= step ||
                   (step + 1 >= device.steps() && a.has(row, model::kPendingAtEnd));
    blocks.push_back({.segment = inside ? owned[range].segment : model::SegmentId(),
                      .address = address,
                      .size_bytes = a.block_bytes[row],
                      .requested_bytes = a.requested_bytes[row],
                      .state = pending ? model::BlockState::kActivePendingFree
                                       : model::BlockState::kActiveAllocated,
                      .allocation = AllocationId(row),
                      .stack = a.stack[row]});
  }
  closeRangesBefore(UINT64_MAX);
  return blocks;
}

}  // namespace tidegauge::analysis
