#include "analysis/trace/live_set.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

namespace tidegauge::analysis {
namespace {

constexpr Step kCheckpointSteps = 65536;

// To the next checkpoint.
uint64_t gapAfter(size_t live) { return std::max<uint64_t>(kCheckpointSteps, 4 * live); }

}  // namespace

LiveIndex::LiveIndex(const model::Trace& trace, const model::Device& device)
    : trace_(trace), device_(device) {
  addCheckpoints(0, device.allocation_begin, {});
}

LiveIndex::LiveIndex(const model::Trace& trace, const model::Device& device, LiveIndex&& before,
                     const model::Continuation& continuation)
    : trace_(trace), device_(device), checkpoints_(std::move(before.checkpoints_)) {
  while (!checkpoints_.empty() && checkpoints_.back().step >= continuation.steps)
    checkpoints_.pop_back();
  if (checkpoints_.empty()) {
    addCheckpoints(0, device.allocation_begin, {});
    return;
  }
  const Checkpoint& last = checkpoints_.back();
  uint64_t gap = gapAfter(last.live.size());
  if (gap < device.steps() - last.step)
    addCheckpoints(last.step + static_cast<Step>(gap), last.next_row, last.live);
}

// From `step` on; `live` were so at an earlier step, after which `row` is the first one.
void LiveIndex::addCheckpoints(Step step, uint64_t row, std::vector<uint32_t> live) {
  const model::Allocations& a = trace_.allocations;
  const model::Device& device = device_;
  while (step < device.steps()) {
    std::erase_if(live, [&](uint32_t r) { return a.last_step[r] <= step; });
    // Rows born since, without a branch: whether one is still live cannot be predicted.
    uint64_t end = row;
    while (end < device.allocation_end && a.first_step[end] <= step) ++end;
    size_t size = live.size();
    live.resize(size + (end - row));
    for (; row < end; ++row) {
      live[size] = static_cast<uint32_t>(row);
      size += a.last_step[row] > step ? 1 : 0;
    }
    live.resize(size);
    checkpoints_.push_back({step, row, live});
    uint64_t gap = gapAfter(live.size());
    if (gap >= device.steps() - step) break;
    step += static_cast<Step>(gap);
  }
}

std::vector<uint32_t> LiveIndex::liveAt(Step step) const {
  std::vector<uint32_t> live;
  const model::Allocations& a = trace_.allocations;
  if (device_.steps() == 0) {  // nothing recorded: only the final state exists
    for (uint64_t row = device_.allocation_begin; row < device_.allocation_end; ++row) {
      live.push_back(static_cast<uint32_t>(row));
    }
    return live;
  }
  step = std::min(step, device_.steps() - 1);
  auto after = std::upper_bound(checkpoints_.begin(), checkpoints_.end(), step,
                                [](Step s, const Checkpoint& c) { return s < c.step; });
  const Checkpoint& from = *(after - 1);
  for (uint32_t row : from.live) {
    if (step < a.last_step[row]) live.push_back(row);
  }
  for (uint64_t row = from.next_row; row < device_.allocation_end && a.first_step[row] <= step;
       ++row) {
    if (step < a.last_step[row]) live.push_back(static_cast<uint32_t>(row));
  }
  return live;
}

std::vector<uint32_t> LiveIndex::liveAtStart() const {
  if (device_.steps() == 0) return liveAt(0);
  std::vector<uint32_t> live;
  for (uint64_t row = device_.allocation_begin;
       row < device_.allocation_end && trace_.allocations.first_step[row] == 0; ++row) {
    if (liveBefore(trace_, static_cast<uint32_t>(row))) live.push_back(static_cast<uint32_t>(row));
  }
  return live;
}

std::pair<uint64_t, uint64_t> LiveIndex::bornIn(Step begin, Step end) const {
  auto first =
      trace_.allocations.first_step.begin() + static_cast<ptrdiff_t>(device_.allocation_begin);
  auto last =
      trace_.allocations.first_step.begin() + static_cast<ptrdiff_t>(device_.allocation_end);
  auto from = std::lower_bound(first, last, begin);
  auto to = std::lower_bound(from, last, end);
  auto rowOf = [&](auto it) {
    return static_cast<uint64_t>(it - trace_.allocations.first_step.begin());
  };
  return {rowOf(from), rowOf(to)};
}

std::vector<StackGroup> groupByStack(const model::Trace& trace, const std::vector<uint32_t>& rows) {
  const model::Allocations& a = trace.allocations;
  boost::unordered_flat_map<uint32_t, uint32_t> group_of;
  std::vector<StackGroup> groups;
  for (uint32_t row : rows) {
    StackId stack = a.stack[row];
    auto [found, fresh] = group_of.try_emplace(stack.value, static_cast<uint32_t>(groups.size()));
    if (fresh) groups.push_back({.stack = stack, .first_row = row});
    StackGroup& group = groups[found->second];
    group.block_bytes += a.block_bytes[row];
    group.requested_bytes += a.requested_bytes[row];
    group.blocks++;
    if (a.block_bytes[row] > a.block_bytes[group.first_row]) group.first_row = row;
    if (model::isOlder(a.provenance[row])) group.older_bytes += a.block_bytes[row];
  }
  std::stable_sort(groups.begin(), groups.end(), [](const StackGroup& x, const StackGroup& y) {
    return x.block_bytes > y.block_bytes;
  });
  return groups;
}

}  // namespace tidegauge::analysis
