#include "support/slow_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tidegauge::testing {
namespace {

std::vector<SlowRange> ownedAt(const model::Trace& trace, const model::Device& device,
                               model::Step step) {
  const model::Pieces& p = trace.pieces;
  std::map<uint64_t, SlowRange> by_begin;
  for (uint64_t row = device.piece_begin; row < device.piece_end; ++row) {
    bool there = device.steps() == 0 || (p.first_step[row] <= step && step < p.last_step[row]);
    if (there) {
      by_begin[p.address[row]] = {p.address[row], p.address[row] + p.size_bytes[row],
                                  p.segment[row]};
    }
  }
  std::vector<SlowRange> owned;
  for (const auto& [begin, range] : by_begin) {
    bool joins =
        !owned.empty() && owned.back().end == begin && owned.back().segment == range.segment;
    if (joins) {
      owned.back().end = range.end;
    } else {
      owned.push_back(range);
    }
  }
  return owned;
}

// What covers each part of one range, `mine` in the order of SlowLayout::blocks.
void cover(const model::Trace& trace, const SlowRange& range, size_t index,
           const std::vector<SlowBlock*>& mine, std::vector<SlowHole>& holes) {
  const model::Allocations& a = trace.allocations;
  auto endOf = [&](uint32_t row) {
    return a.address[row] + std::min(a.block_bytes[row], range.end - a.address[row]);
  };
  std::set<uint64_t> cuts = {range.begin, range.end};
  for (const SlowBlock* block : mine) {
    cuts.insert(a.address[block->row]);
    cuts.insert(endOf(block->row));
  }
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    uint64_t begin = *cut;
    uint64_t end = *std::next(cut);
    auto owner = std::find_if(mine.begin(), mine.end(), [&](const SlowBlock* block) {
      return a.address[block->row] <= begin && end <= endOf(block->row);
    });
    if (owner == mine.end()) {
      holes.push_back({index, begin, end});
    } else {
      (*owner)->covered_bytes += end - begin;
    }
  }
}

}  // namespace

SlowLayout slowLayout(const model::Trace& trace, const model::Device& device, model::Step step) {
  if (device.steps() > 0) step = std::min(step, device.steps() - 1);
  const model::Allocations& a = trace.allocations;
  SlowLayout layout;
  layout.owned = ownedAt(trace, device, step);
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    // Without events the final state is all there is.
    bool live = device.steps() == 0 || (a.first_step[row] <= step && step < a.last_step[row]);
    if (live) layout.blocks.push_back({.row = static_cast<uint32_t>(row)});
  }
  std::sort(layout.blocks.begin(), layout.blocks.end(), [&](const auto& x, const auto& y) {
    return std::tie(a.address[x.row], x.row) < std::tie(a.address[y.row], y.row);
  });
  std::vector<std::vector<SlowBlock*>> inside(layout.owned.size());
  for (SlowBlock& block : layout.blocks) {
    for (size_t i = 0; i < layout.owned.size() && block.range == SIZE_MAX; ++i) {
      const SlowRange& range = layout.owned[i];
      if (range.begin <= a.address[block.row] && a.address[block.row] < range.end) block.range = i;
    }
    if (block.range != SIZE_MAX) inside[block.range].push_back(&block);
  }
  for (size_t i = 0; i < layout.owned.size(); ++i) {
    cover(trace, layout.owned[i], i, inside[i], layout.holes);
  }
  return layout;
}

model::PoolId slowPool(const model::Trace& trace, model::SegmentId segment) {
  model::PoolId pool = trace.segments.pool[segment.index()];
  return pool.valid() ? pool : model::PoolId(0);
}

}  // namespace tidegauge::testing
