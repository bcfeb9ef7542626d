#include "analysis/trace/live_set.h"

#include <gtest/gtest.h>

#include "analysis/trace/analysed_trace.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;

TEST(LiveSet, EqualsAScanAtEveryStepAlsoPastCheckpoints) {
  TraceBuilder b;
  uint64_t random = 1;
  std::vector<uint64_t> live;
  for (int i = 0; i < 70'000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    if (live.size() > 50 || (!live.empty() && random >> 63 != 0)) {
      size_t index = (random >> 33) % live.size();
      b.freeCompleted(live[index], 512);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
    } else {
      live.push_back(kA + static_cast<uint64_t>(i) * 512);
      b.alloc(live.back(), 512);
    }
  }
  model::Trace trace = b.build();
  const model::Device& device = trace.devices[0];
  LiveIndex index(trace, device);
  for (Step step : {0U, 1U, 999U, 65'535U, 65'536U, 65'537U, 69'999U, 80'000U}) {
    std::vector<uint32_t> want;
    for (uint32_t row = 0; row < trace.allocations.size(); ++row) {
      if (liveAfter(trace, row, std::min(step, device.steps() - 1))) want.push_back(row);
    }
    EXPECT_EQ(index.liveAt(step), want) << step;
  }
  auto [from, to] = index.bornIn(100, 200);
  for (uint32_t row = 0; row < trace.allocations.size(); ++row) {
    bool born = trace.allocations.first_step[row] >= 100 && trace.allocations.first_step[row] < 200;
    EXPECT_EQ(born, from <= row && row < to);
  }
}

TEST(LiveSet, GroupsByStackMostBytesFirst) {
  TraceBuilder b;
  b.stack({"small@a.py:1"}).alloc(kA, 512).stack({"large@a.py:2"}).alloc(kA + 4096, 1024);
  b.alloc(kA + 8192, 3072).noStack().alloc(kA + 16384, 100);
  model::Trace trace = b.build();
  std::vector<StackGroup> groups = groupByStack(trace, {0, 1, 2, 3});
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].block_bytes, 4096U);
  EXPECT_EQ(groups[0].blocks, 2U);
  EXPECT_EQ(groups[0].first_row, 2U);      // its largest
  EXPECT_EQ(groups[1].stack, StackId(0));  // equal sizes keep their order
  EXPECT_FALSE(groups[2].stack.valid());
  EXPECT_EQ(groups[2].requested_bytes, 100U);
}

TEST(LiveSet, BeforeTheFirstEvent) {
  TraceBuilder b;  // three older blocks and one lost life, which follows the second alloc
  b.freeCompleted(kA, 700).alloc(kA, 512).freeCompleted(kA + kMiB, 300).freeCompleted(kA, 512);
  b.freeCompleted(kA, 64);
  AnalysedTrace analysed(b.build());
  const DeviceAnalysis& device = *analysed.devices[0];
  uint64_t bytes = 0;
  for (uint32_t row : device.live.liveAtStart())
    bytes += analysed.trace.allocations.block_bytes[row];
  EXPECT_EQ(bytes, device.totals.initial().active_bytes);
  EXPECT_EQ(bytes, 1024U + 512U) << "the lost life follows another, and begins later";
}

}  // namespace
}  // namespace tidegauge::analysis
