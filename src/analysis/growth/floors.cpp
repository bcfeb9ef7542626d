#include "analysis/growth/floors.h"

#include <algorithm>

namespace tidegauge::analysis {
namespace {

// Whether the event of that step frees the row.
bool isFreedBy(const model::Trace& trace, const model::Device& device, Step step, uint64_t row) {
  uint64_t event = device.event_begin + step;
  return model::kFrees.has(trace.events.action[event]) && trace.events.subject[event] == row;
}

// Rows that end before step `end`, without an event that says so: by step.
std::vector<std::pair<Step, uint32_t>> silentDeaths(const model::Trace& trace,
                                                    const model::Device& device, Step end) {
  const model::Allocations& a = trace.allocations;
  std::vector<std::pair<Step, uint32_t>> deaths;
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    if (a.has(row, model::kFreeCompletedSeen)) continue;
    Step last = a.last_step[row];
    if (a.first_step[row] < last && last < end && !isFreedBy(trace, device, last, row))
      deaths.emplace_back(last, static_cast<uint32_t>(row));
  }
  std::sort(deaths.begin(), deaths.end());
  return deaths;
}

}  // namespace

Floors::Floors(const model::Trace& trace, const DeviceAnalysis& device,
               const std::vector<Step>& points, Step end, const FloorBlocks* blocks)
    : trace_(trace),
      points_(points),
      end_(end),
      undone_(trace, device.device),
      floors_(undone_.stacks()),
      point_(points.size()),
      is_touched_(floors_.size()) {
  const model::Device& rows = device.device;
  if (rows.allocation_begin == rows.allocation_end) return;
  if (blocks != nullptr) {  // all its rows begin and end with an event, or are there at the end
    for (uint32_t row : device.live.liveAt(end_ - 1)) add(row);
  } else {
    const model::Allocations& a = trace.allocations;
    for (uint64_t row = rows.allocation_begin; row < rows.allocation_end; ++row)
      if (a.last_step[row] >= end_ && a.first_step[row] < a.last_step[row]) add(row);
    undone_.setSilent(silentDeaths(trace, rows, end_));
  }
  walk(blocks);
}

void Floors::add(uint64_t row) {
  undone_.of(undone_.indexOf(row)).out += trace_.allocations.block_bytes[row];
}

inline void Floors::touch(size_t stack) {
  if (!is_touched_[stack]) touched_.push_back(static_cast<uint32_t>(stack));
  is_touched_[stack] = true;
}

// The point before those that are written.
void Floors::writePoint() {
  --point_;
  for (uint32_t stack : touched_) {
    is_touched_[stack] = false;
    auto& changes = floors_[stack].changes;
    uint64_t written = changes.empty() ? 0 : changes.back().bytes;
    uint64_t least = undone_.of(stack).least;
    if (written != least) changes.push_back({static_cast<uint32_t>(point_), least});
  }
  touched_.clear();
}

void Floors::walk(const FloorBlocks* blocks) {
  for (size_t stack = 0; stack < floors_.size(); ++stack) {
    StepsUndone::State& state = undone_.of(stack);
    state.least = state.out;
    if (state.out > 0) touch(stack);
  }
  size_t whole = blocks == nullptr ? 0 : blocks->countBefore(end_);
  for (Step end = end_; end > 0;) {
    if (point_ > 0 && points_[point_ - 1] == end - 1) writePoint();
    if (point_ == 0) break;
    Step settled = whole == 0 ? 0 : blocks->of(whole - 1).end;
    if (end == settled) {
      const FloorBlock& block = blocks->of(--whole);
      undoBlock(block);
      end = block.begin;
      continue;
    }
    Step begin = points_[point_ - 1] < end - 1 ? points_[point_ - 1] + 1 : 0;
    begin = std::max({begin, end - std::min(end, StepsUndone::kRun), settled});
    undone_.undo(
        begin, end, [](size_t) {}, [&](size_t stack, uint64_t) { touch(stack); });
    end = begin;
  }
}

void Floors::undoBlock(const FloorBlock& block) {
  auto first = std::lower_bound(points_.begin(), points_.end(), block.begin) - points_.begin();
  if (static_cast<size_t>(first) < point_) {
    undoBlockWithPoints(block, static_cast<size_t>(first));
    return;
  }
  for (const FloorBlock::OfStack& it : block.stacks) {
    size_t stack = it.stack.valid() ? it.stack.index() : floors_.size() - 1;
    StepsUndone::State& state = undone_.of(stack);
    if (uint64_t least = state.out - it.below; least < state.least) {
      state.least = least;
      touch(stack);
    }
    state.out += it.change;
  }
}

// What is lower before the first point that comes is known at once; the rest waits for its point.
void Floors::undoBlockWithPoints(const FloorBlock& block, size_t first) {
  struct Fall {
    size_t stack;
    uint64_t least;
  };
  std::vector<std::vector<Fall>> before(point_ - first);  // by point
  size_t low = 0;
  for (const FloorBlock::OfStack& it : block.stacks) {
    size_t stack = it.stack.valid() ? it.stack.index() : floors_.size() - 1;
    StepsUndone::State& state = undone_.of(stack);
    uint64_t out = state.out;
    uint64_t least = state.least;
    size_t end_low = it.end_low;
    size_t point = point_;
    for (; low < end_low && out - it.below < least; ++low) {
      uint64_t bytes = out - block.lows[low].below;
      if (bytes >= least) continue;
      least = bytes;
      while (point > first && points_[point - 1] > block.lows[low].step) --point;
      if (point == point_) {
        state.least = least;
        touch(stack);
      } else {
        before[point - first].push_back({stack, least});
      }
    }
    low = end_low;
    state.out += it.change;
  }
  while (point_ > first) {
    writePoint();
    for (const Fall& fall : before[point_ - first]) {
      undone_.of(fall.stack).least = fall.least;
      touch(fall.stack);
    }
  }
}

}  // namespace tidegauge::analysis
