#include "analysis/growth/churn.h"

#include <algorithm>
#include <cmath>

#include "analysis/labels/allocating_stack.h"
#include "analysis/trace/peak.h"
#include "model/columns/fetch.h"

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

struct Temporary {
  uint32_t row;
  uint32_t place;  // in Churn::stacks
  uint32_t later;
};
constexpr uint32_t kNoPlace = UINT32_MAX;

// The sums of each stack are at a random place: they are fetched some temporaries ahead.
void addUp(const model::Trace& trace, const DeviceAnalysis& device,
           const std::vector<Temporary>& temporaries, Churn& churn) {
  constexpr size_t kAhead = 12;
  const model::Allocations& a = trace.allocations;
  Peak peak = device.totals.peakActive();
  auto sliceOf = [&](uint32_t row) {
    return uint64_t{a.first_step[row]} * kChurnSlices / device.device.steps();
  };
  for (size_t i = 0; i < temporaries.size(); ++i) {
    const Temporary& ahead = temporaries[std::min(i + kAhead, temporaries.size() - 1)];
    const ChurnStack& later_stack = churn.stacks[ahead.place];
    model::fetch(&later_stack.blocks);
    model::fetch(&later_stack.largest_row);
    model::fetch(&later_stack.slice_bytes[sliceOf(ahead.row)]);
    const auto& [row, place, later] = temporaries[i];
    ChurnStack& of = churn.stacks[place];
    uint64_t bytes = a.block_bytes[row];
    for (size_t w = 0; w < kChurnWindows.size(); ++w) {
      if (later > kChurnWindows[w]) continue;
      of.blocks[w]++;
      of.bytes[w] += bytes;
      churn.blocks[w]++;
      churn.bytes[w] += bytes;
    }
    of.slice_bytes[sliceOf(row)] += bytes;
    if (bytes > a.block_bytes[of.largest_row]) of.largest_row = row;
    if (isLiveAt(trace, row, peak)) {
      of.peak_bytes += bytes;
      churn.peak_bytes += bytes;
    }
  }
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
  std::vector<Temporary> temporaries;
  std::vector<uint32_t> later_of = laterAllocations(analysed.trace, device);
  std::vector<uint32_t> place_of(analysed.trace.stacks.size() + 1, kNoPlace);  // last: no stack
  for (uint64_t row = device.device.allocation_begin; row < device.device.allocation_end; ++row) {
    if (!a.has(row, model::kAllocSeen)) continue;
    churn.allocations++;
    churn.allocated_bytes += a.block_bytes[row];
    uint32_t later = later_of[row - device.device.allocation_begin];
    static_assert(kNotFreed > kChurnWindows.back());
    if (later > kChurnWindows.back()) continue;
    StackId stack = allocatingStack(a, row);
    uint32_t& place = place_of[stack.valid() ? stack.index() : place_of.size() - 1];
    if (place == kNoPlace) {
      place = static_cast<uint32_t>(churn.stacks.size());
      churn.stacks.push_back({.stack = stack, .largest_row = static_cast<uint32_t>(row)});
    }
    temporaries.push_back({static_cast<uint32_t>(row), place, later});
  }
  addUp(analysed.trace, device, temporaries, churn);
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
