#include "analysis/layout.h"

#include <algorithm>

#include "analysis/allocator_rules.h"

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

uint64_t pageBytes(const model::Trace& trace, model::SegmentId segment) {
  return trace.segments.small_pool[segment.index()] ? AllocatorRules::kSmallSegmentBytes
                                                    : largeSegmentBytes(trace.settings);
}

uint64_t wholePageBytes(uint64_t offset, uint64_t size_bytes, uint64_t page) {
  uint64_t first = offset / page + (offset % page != 0);
  uint64_t last = (offset + size_bytes) / page;
  return last > first ? (last - first) * page : 0;
}

FreeParts freeParts(const model::Trace& trace, std::span<const LayoutBlock> blocks) {
  FreeParts parts;
  size_t begin = 0;
  while (begin < blocks.size()) {
    size_t end = begin;
    model::SegmentId segment = blocks[begin].segment;
    bool expandable =
        segment.valid() && trace.segments.kind[segment.index()] == model::SegmentKind::kExpandable;
    uint64_t free_bytes = 0;
    uint64_t page_bytes = 0;
    uint64_t base = expandable ? trace.segments.address[segment.index()] : 0;
    uint64_t page = expandable ? pageBytes(trace, segment) : 0;
    bool live = false;
    while (end < blocks.size() && blocks[end].segment == segment) {
      const LayoutBlock& block = blocks[end++];
      if (block.state != model::BlockState::kInactive) {
        live = true;
        continue;
      }
      free_bytes += block.size_bytes;
      parts.count++;
      parts.largest_bytes = std::max(parts.largest_bytes, block.size_bytes);
      if (expandable) page_bytes += wholePageBytes(block.address - base, block.size_bytes, page);
    }
    uint64_t releasable = !live ? free_bytes : expandable ? page_bytes : 0;
    parts.bytes += free_bytes;
    parts.releasable_bytes += releasable;
    parts.pinned_bytes += free_bytes - releasable;
    parts.pinned_segments += free_bytes > releasable;
    begin = end;
  }
  return parts;
}

}  // namespace tidegauge::analysis
