#include <gtest/gtest.h>

#include "analysis/layout/fragmentation_details.h"
#include "analysis/layout/fragmentation_series.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using model::BlockState;
using testing::TraceBuilder;

constexpr uint64_t kOther = 0x7f8000000000;

TEST(SampleSteps, HaveBothEndsAndNoStepTwice) {
  EXPECT_EQ(sampleSteps(0, 9999, 5), (std::vector<Step>{0, 2499, 4999, 7499, 9999}));
  EXPECT_EQ(sampleSteps(3, 5, 200), (std::vector<Step>{3, 4, 5}));
  EXPECT_EQ(sampleSteps(7, 7, 200), (std::vector<Step>{7}));
  EXPECT_EQ(sampleSteps(0, 100, 1), (std::vector<Step>{100}));
  EXPECT_EQ(sampleSteps(0, 100, 0), (std::vector<Step>{100}));
  EXPECT_EQ(sampleSteps(0, 4'000'000'000, 100'000'000).size(), kMaxSamples);
}

TEST(TypicalRequest, IsTheNearestRankInWholeBlocks) {
  TraceBuilder b;
  b.segmentAlloc(kA, 200 * kMiB);
  for (uint64_t i = 1; i <= 100; ++i) b.alloc(kA + i * kMiB, i * 1000);
  model::Trace trace = b.build();
  // The 95th of 100 is 95,000 bytes; 95,232 is the next multiple of 512.
  EXPECT_EQ(typicalRequest(trace, trace.devices[0]), 95'232);
  TraceBuilder none;
  none.oom(1, 2);
  model::Trace empty = none.build();
  EXPECT_EQ(typicalRequest(empty, empty.devices[0]), 0);
}

model::Trace twoPools() {
  TraceBuilder b;
  b.finalSegment(kA, 40 * kMiB)
      .block(30 * kMiB, BlockState::kActiveAllocated, 30 * kMiB)
      .block(10 * kMiB, BlockState::kInactive);
  b.pool(2, 0).finalSegment(kA + 40 * kMiB, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  b.pool(0, 0)
      .finalSegment(kOther, 100 * kMiB)
      .block(60 * kMiB, BlockState::kInactive)
      .block(40 * kMiB, BlockState::kActiveAllocated, 40 * kMiB);
  return b.build();
}

TEST(Fragmentation, PoolsAreNeverMixed) {
  AnalysedTrace analysed(twoPools());
  const DeviceAnalysis& device = *analysed.devices[0];
  model::PoolId pool = mainPool(analysed.trace, device.device);
  EXPECT_EQ(analysed.trace.pools[pool.index()].first, 0);
  FragmentationDetails details = fragmentationAt(analysed, device, 0, {.pool = pool});
  ASSERT_EQ(details.pools.size(), 2);
  EXPECT_EQ(details.pools[0].segments, 2);
  EXPECT_EQ(details.pools[0].sums.free.bytes, 70 * kMiB);
  EXPECT_EQ(details.pools[0].sums.free.pinned_bytes, 70 * kMiB);
  EXPECT_EQ(details.pools[1].sums.free.held_in_pools_bytes, 20 * kMiB);
  EXPECT_EQ(details.sample.sums.free.bytes, 90 * kMiB);
  EXPECT_NEAR(details.sample.reserved.external, 70.0 / 140, 1e-12);
  EXPECT_NEAR(details.sample.sums.free.external(), 1 - 60.0 / 90, 1e-12);
  EXPECT_NEAR(details.sample.sums.free.externalBySegment(), 0, 1e-12);
  // The graph's segment is between the two of the default pool: it is owned, so it is not a hole.
  double span = static_cast<double>(kOther + 100 * kMiB - kA);
  double gap = static_cast<double>(kOther - kA - 60 * kMiB);
  EXPECT_NEAR(details.sample.address.external, gap / span, 1e-12);
}

TEST(Fragmentation, AFreePageOfAnExpandableSegmentIsReleasable) {
  TraceBuilder b;
  b.finalSegment(kA, 60 * kMiB, model::SegmentKind::kExpandable)
      .block(5 * kMiB, BlockState::kActiveAllocated, 5 * kMiB)
      .block(55 * kMiB, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  FragmentationDetails details = fragmentationAt(analysed, *analysed.devices[0], 0, {});
  EXPECT_EQ(details.sample.sums.free.releasable_bytes, 40 * kMiB);
  EXPECT_EQ(details.sample.sums.free.pinned_bytes, 15 * kMiB);
}

uint64_t strandedAt(const std::vector<StrandedPoint>& curve, uint64_t request) {
  for (const StrandedPoint& point : curve) {
    if (point.request_bytes == request) return point.stranded_bytes;
  }
  ADD_FAILURE() << "no point at " << request;
  return 0;
}

TEST(StrandedCurve, JumpsJustAboveEachHole) {
  std::vector<StrandedPoint> curve = strandedCurve({5 * kMiB, 4 * kMiB, 3 * kMiB});
  EXPECT_EQ(curve.front().request_bytes, 512);
  EXPECT_EQ(curve.front().stranded_bytes, 0);
  EXPECT_EQ(strandedAt(curve, 3 * kMiB), 3 * kMiB);       // 2 of 5, 1 of 4
  EXPECT_EQ(strandedAt(curve, 4 * kMiB), 4 * kMiB);       // 1 of 5, all of 3
  EXPECT_EQ(strandedAt(curve, 5 * kMiB), 7 * kMiB);       // all of 4 and 3
  EXPECT_EQ(strandedAt(curve, 5 * kMiB + 1), 12 * kMiB);  // nothing serves it
  EXPECT_EQ(curve.back().request_bytes, 12 * kMiB);
  EXPECT_EQ(curve.back().stranded_bytes, 12 * kMiB);
  EXPECT_TRUE(strandedCurve({}).empty());
  EXPECT_EQ(strandedCurve({100}).back().request_bytes, 100);  // less than the least block
}

TEST(SizeClasses, AreByPowersOfTwo) {
  TraceBuilder b;
  b.finalSegment(kA, 20 * kMiB)
      .block(512, BlockState::kActiveAllocated, 4)
      .block(1024, BlockState::kActiveAllocated, 1000)
      .block(1536, BlockState::kActiveAllocated, 1200)
      .block(20 * kMiB - 3072, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  FragmentationDetails details = fragmentationAt(analysed, *analysed.devices[0], 0, {});
  ASSERT_EQ(details.classes.size(), 2);
  EXPECT_EQ(details.classes[0].from_bytes, 512);
  EXPECT_EQ(details.classes[0].waste_bytes, 508);
  EXPECT_EQ(details.classes[1].from_bytes, 1024);
  EXPECT_EQ(details.classes[1].blocks, 2);
  EXPECT_EQ(details.classes[1].waste_bytes, 24 + 336);
}

}  // namespace
}  // namespace tidegauge::analysis
