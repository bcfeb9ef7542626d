#include "analysis/growth/churn.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>

#include "analysis/labels/allocating_stack.h"
#include "analysis/trace/peak.h"

namespace tidegauge::analysis {
namespace {

constexpr uint32_t kNotFreed = UINT32_MAX;

// Number of later allocations of the device until the block could be reused, by row; kNotFreed:
// never, or one of its ends was not recorded.
std::vector<uint32_t> laterAllocations(const model::Trace& trace, const DeviceAnalysis& of) {
  const model::Allocations& a = trace.allocations;
  const model::Device& device = of.device;
  std::vector<uint32_t> later(device.allocation_end - device.allocation_begin, kNotFreed);
  // Rows ascend by their alloc. If `born` counts them up to a step, the difference counts later
  // ones.
  std::vector<uint32_t> born(uint64_t{device.steps()} + 1, 0);  // before the step
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    if (a.has(row, model::kAllocSeen)) ++born[uint64_t{a.first_step[row]} + 1];
  }
  for (size_t i = 1; i < born.size(); ++i) born[i] += born[i - 1];
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    if (!isFreed(trace, of, row)) continue;
    later[row - device.allocation_begin] =
        born[a.last_step[row]] - born[uint64_t{a.first_step[row]} + 1];
  }
  return later;
}

}  // namespace

bool isFreed(const model::Trace& trace, const DeviceAnalysis& device, uint64_t row) {
  const model::Allocations& a = trace.allocations;
  return a.has(row, model::kAllocSeen) && a.last_step[row] < device.clean_up_step &&
         a.first_step[row] < a.last_step[row];
}

uint64_t Churn::perStepBytes() const {
  if (program_steps <= 0) return 0;
  return static_cast<uint64_t>(std::llround(static_cast<double>(bytes.back()) / program_steps));
}

Churn churnOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
              const SamplePoints& points) {
  const model::Allocations& a = analysed.trace.allocations;
  Churn churn;
  churn.program_steps = points.program_steps;
  churn.basis = points.basis;
  Peak peak = device.totals.peakActive();
  boost::unordered_flat_map<uint32_t, size_t> place_of;
  std::vector<uint32_t> later_of = laterAllocations(analysed.trace, device);
  for (uint64_t row = device.device.allocation_begin; row < device.device.allocation_end; ++row) {
    if (!a.has(row, model::kAllocSeen)) continue;
    uint64_t bytes = a.block_bytes[row];
    churn.allocations++;
    churn.allocated_bytes += bytes;
    uint32_t later = later_of[row - device.device.allocation_begin];
    static_assert(kNotFreed > kChurnWindows.back());
    if (later > kChurnWindows.back()) continue;
    StackId stack = allocatingStack(a, row);
    auto [found, fresh] = place_of.try_emplace(stack.value, churn.stacks.size());
    if (fresh) churn.stacks.push_back({.stack = stack, .largest_row = static_cast<uint32_t>(row)});
    ChurnStack& of = churn.stacks[found->second];
    for (size_t w = 0; w < kChurnWindows.size(); ++w) {
      if (later > kChurnWindows[w]) continue;
      of.blocks[w]++;
      of.bytes[w] += bytes;
      churn.blocks[w]++;
      churn.bytes[w] += bytes;
    }
    of.slice_bytes[uint64_t{a.first_step[row]} * kChurnSlices / device.device.steps()] += bytes;
    if (bytes > a.block_bytes[of.largest_row]) of.largest_row = static_cast<uint32_t>(row);
    if (isLiveAt(analysed.trace, static_cast<uint32_t>(row), peak)) {
      of.peak_bytes += bytes;
      churn.peak_bytes += bytes;
    }
  }
  std::stable_sort(
      churn.stacks.begin(), churn.stacks.end(),
      [](const ChurnStack& x, const ChurnStack& y) { return x.bytes.back() > y.bytes.back(); });
  return churn;
}

std::vector<uint32_t> churnIn(const model::Trace& trace, const DeviceAnalysis& device, Step begin,
                              Step end) {
  std::vector<uint32_t> rows;
  auto [first, last] = device.live.bornIn(begin, end);
  for (uint64_t row = first; row < last; ++row) {
    if (isFreed(trace, device, row) && trace.allocations.last_step[row] < end) {
      rows.push_back(static_cast<uint32_t>(row));
    }
  }
  return rows;
}

}  // namespace tidegauge::analysis
