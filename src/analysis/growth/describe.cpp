#include "analysis/growth/describe.h"

#include <algorithm>

#include "analysis/labels/allocating_stack.h"

namespace tidegauge::analysis {
namespace {

constexpr uint32_t kNotGrowing = UINT32_MAX;

class Description {
 public:
  Description(const AnalysedTrace& analysed, const DeviceAnalysis& device, Growth& growth)
      : a_(analysed.trace.allocations),
        device_(device),
        growth_(growth),
        points_(growth.points.steps),
        place_of_(analysed.trace.stacks.size() + 1, kNotGrowing) {
    for (size_t i = 0; i < growth.stacks.size(); ++i) {
      StackId stack = growth.stacks[i].stack;
      size_t index = stack.valid() ? stack.index() : place_of_.size() - 1;
      place_of_[index] = static_cast<uint32_t>(i);
    }
  }

  void outstanding() {
    for (GrowingStack& stack : growth_.stacks)
      stack.outstanding_bytes.assign(points_.size() + 1, 0);  // differences until the end
    for (size_t next = 0; next < points_.size();) next = addGroup(next);
    for (GrowingStack& stack : growth_.stacks) {
      for (size_t k = 1; k < points_.size(); ++k)
        stack.outstanding_bytes[k] += stack.outstanding_bytes[k - 1];
      stack.outstanding_bytes.pop_back();
    }
  }

  void retained() {
    constexpr uint32_t kNone = UINT32_MAX;
    size_t count = growth_.stacks.size();
    std::vector<uint64_t> kept(count);  // of these: older than the last interval
    std::vector<uint32_t> first(count, kNone);
    std::vector<uint32_t> largest(count, kNone);
    Step last_interval = points_.size() < 2 ? 0 : points_[points_.size() - 2];
    for (uint32_t row : device_.live.liveAt(growth_.points.end - 1)) {
      uint32_t i = placeOf(row);
      if (i == kNotGrowing) continue;
      GrowingStack& stack = growth_.stacks[i];
      stack.retained_bytes += a_.block_bytes[row];
      if (a_.last_step[row] < device_.device.steps()) stack.given_back_bytes += a_.block_bytes[row];
      stack.retained_blocks++;
      if (largest[i] == kNone || a_.block_bytes[row] > a_.block_bytes[largest[i]]) largest[i] = row;
      if (a_.first_step[row] <= stack.since_step) continue;
      if (first[i] == kNone) first[i] = row;
      if (a_.first_step[row] <= last_interval) kept[i] += a_.block_bytes[row];
    }
    for (size_t i = 0; i < count; ++i) {
      GrowingStack& stack = growth_.stacks[i];
      bool accumulates = first[i] != kNone && kept[i] >= stack.grown_bytes / 2;
      stack.kind = accumulates ? GrowingStack::Kind::kAccumulates : GrowingStack::Kind::kReplaced;
      stack.example_row = accumulates ? first[i] : largest[i] == kNone ? 0 : largest[i];
      if (stack.is_late && accumulates) stack.since_step = a_.first_step[first[i]];
    }
  }

 private:
  uint32_t placeOf(uint32_t row) const {
    StackId stack = allocatingStack(a_, row);
    return place_of_[stack.valid() ? stack.index() : place_of_.size() - 1];
  }

  // The points from `begin` on that lie as close as checkpoints of live sets; returns the next one.
  size_t addGroup(size_t begin) {
    constexpr uint64_t kClose = 65536;
    std::vector<uint32_t> live = device_.live.liveAt(points_[begin]);
    uint64_t close = std::max<uint64_t>(kClose, 4 * live.size());
    size_t end = begin + 1;
    while (end < points_.size() && points_[end] - points_[begin] < close) ++end;
    auto add = [&](uint32_t row, size_t first) {
      uint32_t i = placeOf(row);
      if (i == kNotGrowing) return;
      auto its_end = points_.begin() + static_cast<ptrdiff_t>(end);
      auto last = std::lower_bound(points_.begin() + static_cast<ptrdiff_t>(first), its_end,
                                   a_.last_step[row]) -
                  points_.begin();
      std::vector<uint64_t>& bytes = growth_.stacks[i].outstanding_bytes;
      bytes[first] += a_.block_bytes[row];
      bytes[static_cast<size_t>(last)] -= a_.block_bytes[row];
    };
    for (uint32_t row : live) add(row, begin);
    auto [row, row_end] = device_.live.bornIn(points_[begin] + 1, points_[end - 1] + 1);
    for (size_t first = begin; row < row_end; ++row) {
      while (points_[first] < a_.first_step[row]) ++first;
      add(static_cast<uint32_t>(row), first);
    }
    return end;
  }

  const model::Allocations& a_;
  const DeviceAnalysis& device_;
  Growth& growth_;
  const std::vector<Step>& points_;
  std::vector<uint32_t> place_of_;  // by stack: of growth.stacks; the last one: no stack
};

}  // namespace

void describe(const AnalysedTrace& analysed, const DeviceAnalysis& device, Growth& growth) {
  if (growth.stacks.empty()) return;
  Description description(analysed, device, growth);
  description.outstanding();
  description.retained();
}

}  // namespace tidegauge::analysis
