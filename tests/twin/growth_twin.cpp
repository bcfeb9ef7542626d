// Growth and churn against slow, obvious twins: liveAt at every step, and counting for every block.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/growth/churn.h"
#include "analysis/growth/growth.h"
#include "analysis/labels/allocating_stack.h"
#include "support/messy_trace.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using model::Step;

using BytesOfStack = std::map<uint32_t, uint64_t>;

BytesOfStack outstandingAt(const AnalysedTrace& trace, const DeviceAnalysis& device, Step step) {
  BytesOfStack bytes;
  for (uint32_t row : device.live.liveAt(step)) {
    bytes[analysis::allocatingStack(trace.trace.allocations, row).value] +=
        trace.trace.allocations.block_bytes[row];
  }
  return bytes;
}

// By stack: at each point, the least that is outstanding there and ever after.
std::map<uint32_t, std::vector<double>> slowFloors(const AnalysedTrace& trace,
                                                   const DeviceAnalysis& device,
                                                   const std::vector<Step>& points) {
  std::map<uint32_t, std::vector<double>> floors;
  std::map<uint32_t, uint64_t> least;
  std::vector<uint32_t> stacks;
  for (uint64_t row = device.device.allocation_begin; row < device.device.allocation_end; ++row) {
    uint32_t stack = analysis::allocatingStack(trace.trace.allocations, row).value;
    least[stack] = UINT64_MAX;
    floors[stack].resize(points.size());
  }
  for (Step step = device.device.steps(); step-- > 0;) {
    BytesOfStack now = outstandingAt(trace, device, step);
    for (auto& [stack, bytes] : least) bytes = std::min(bytes, now[stack]);
    auto point = std::find(points.begin(), points.end(), step);
    if (point == points.end()) continue;
    for (auto& [stack, bytes] : least) {
      floors[stack][static_cast<size_t>(point - points.begin())] = static_cast<double>(bytes);
    }
  }
  return floors;
}

TEST(GrowthTwin, FloorsOfMessyTraces) {
  size_t rising = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    AnalysedTrace trace(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0}));
    for (const auto& device : trace.devices) {
      std::vector<Step> points;
      for (Step step = 3; step < device->device.steps(); step += 7) points.push_back(step);
      auto slow = slowFloors(trace, *device, points);
      auto fast = analysis::floorsOf(trace, *device, points);
      for (const auto& [stack, floor] : slow) {
        size_t index = std::min<size_t>(stack, trace.trace.stacks.size());
        ASSERT_EQ(fast[index], floor) << "seed " << seed << ", stack " << stack;
        rising += !floor.empty() && floor.back() > floor.front();
      }
    }
  }
  EXPECT_GT(rising, 20u);
}

TEST(ChurnTwin, LaterAllocationsOneByOne) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    AnalysedTrace trace(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0}));
    const model::Allocations& a = trace.trace.allocations;
    for (const auto& device : trace.devices) {
      const model::Device& d = device->device;
      std::array<uint64_t, 3> blocks{};
      for (uint64_t row = d.allocation_begin; row < d.allocation_end; ++row) {
        if (!a.has(row, model::kAllocSeen) || a.last_step[row] >= d.steps()) continue;
        if (a.first_step[row] >= a.last_step[row]) continue;
        uint64_t later = 0;
        for (uint64_t other = d.allocation_begin; other < d.allocation_end; ++other) {
          later += a.has(other, model::kAllocSeen) && a.first_step[other] > a.first_step[row] &&
                   a.first_step[other] < a.last_step[row];
        }
        for (size_t w = 0; w < 3; ++w) blocks[w] += later <= analysis::kChurnWindows[w];
      }
      analysis::Churn churn =
          analysis::churnOf(trace, *device, analysis::samplePointsOf(trace, *device));
      EXPECT_EQ(churn.blocks, blocks) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tidegauge
