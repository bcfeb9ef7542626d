#include "analysis/growth/outstanding.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

#include "analysis/labels/allocating_stack.h"

namespace tidegauge::analysis {

Outstanding neverFreed(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  const model::Allocations& a = analysed.trace.allocations;
  uint64_t steps = device.device.steps();
  Outstanding result;
  boost::unordered_flat_map<uint32_t, size_t> place_of;
  for (uint64_t row = device.device.allocation_begin; row < device.device.allocation_end; ++row) {
    if (a.last_step[row] < steps || a.free_requested_step[row] != model::kNoStep) continue;
    if (a.has(row, model::kPendingAtEnd)) continue;
    StackId stack = allocatingStack(a, row);
    auto [found, fresh] = place_of.try_emplace(stack.value, result.stacks.size());
    if (fresh) {
      result.stacks.push_back({.stack = stack, .largest_row = static_cast<uint32_t>(row)});
    }
    OutstandingStack& of = result.stacks[found->second];
    uint64_t bytes = a.block_bytes[row];
    of.bytes += bytes;
    of.blocks++;
    if (bytes > a.block_bytes[of.largest_row]) of.largest_row = static_cast<uint32_t>(row);
    result.bytes += bytes;
    result.blocks++;
    if (!a.has(row, model::kAllocSeen)) {
      of.older_bytes += bytes;
      result.older_bytes += bytes;
      continue;
    }
    Step born = a.first_step[row];
    of.by_quarter_bytes[std::min<uint64_t>(3, uint64_t{born} * 4 / std::max<uint64_t>(1, steps))] +=
        bytes;
    if (of.oldest_step == model::kNoStep) of.oldest_step = born;  // rows ascend
    of.newest_step = born;
  }
  std::stable_sort(
      result.stacks.begin(), result.stacks.end(),
      [](const OutstandingStack& x, const OutstandingStack& y) { return x.bytes > y.bytes; });
  return result;
}

}  // namespace tidegauge::analysis
