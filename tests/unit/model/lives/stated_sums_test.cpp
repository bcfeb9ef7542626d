#include "model/lives/stated_sums.h"

#include <gtest/gtest.h>

#include "model/block_size.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::model {
namespace {

using testing::TraceBuilder;

TEST(StatedSums, SegmentsAreComparedWithTheirBlocks) {
  TraceBuilder b;
  b.finalSegment(kA, 2 * kMiB, SegmentKind::kSmall);
  b.block(1024, BlockState::kActiveAllocated, 1000);
  b.block(512, BlockState::kActivePendingFree, 500);
  b.block(2 * kMiB - 1536, BlockState::kInactive, 77);  // stale: does not count
  Trace trace = b.build();
  EXPECT_EQ(segmentDifferenceBytes(trace, 0), 0U);  // its other totals are unknown
  trace.final_segments.allocated_bytes[0] = 1024;
  trace.final_segments.active_bytes[0] = 1536;
  trace.final_segments.requested_bytes[0] = 1500;
  EXPECT_EQ(segmentDifferenceBytes(trace, 0), 0U);
  trace.final_segments.allocated_bytes[0] = 1000;
  trace.final_segments.requested_bytes[0] = 1600;
  EXPECT_EQ(segmentDifferenceBytes(trace, 0), 124U);
  EXPECT_EQ(finalActiveBytes(trace, trace.devices[0]), 1536U);
}

TEST(StatedSums, ABrokenTotalIsAnIssue) {
  TraceBuilder b;
  b.finalSegment(kA, 2 * kMiB).block(kMiB, BlockState::kInactive);
  Trace trace = b.build();
  ASSERT_EQ(trace.issues.count(IssueKind::kFinalTotalsDiffer), 1U);
}

TEST(StatedSums, LiveAtTheEndAgainstTheFinalBlocks) {
  TraceBuilder b;
  b.segmentAlloc(kA, 2 * kMiB).alloc(kA, 700);  // never freed, and not there at the end
  b.finalSegment(kA, 2 * kMiB).block(2 * kMiB, BlockState::kInactive);
  Trace trace = b.build();
  ASSERT_EQ(trace.issues.count(IssueKind::kFinalLiveDiffers), 1U);
  for (const Issue& issue : trace.issues.all()) {
    if (issue.kind == IssueKind::kFinalLiveDiffers) {
      EXPECT_EQ(issue.bytes, 1024U);
    }
  }
}

TEST(StatedSums, SnapshotEventsStateTheActiveBytesOfTheirStep) {
  TraceBuilder b;
  b.event(Action::kSnapshot, 0, 512);  // an older block
  b.segmentAlloc(kA, 2 * kMiB).alloc(kA, 700);
  b.event(Action::kSnapshot, 0, 1536);
  b.freeRequested(kA, 700).event(Action::kSnapshot, 0, 1536);  // still active
  b.freeCompleted(kA, 700).event(Action::kSnapshot, 0, 512);
  b.free(kA + kMiB, 100);
  b.event(Action::kSnapshot, 0, 0);
  b.finalSegment(kA, 2 * kMiB, SegmentKind::kSmall).block(2 * kMiB, BlockState::kInactive);
  Trace trace = b.build();
  std::vector<Checksum> sums = snapshotChecksums(trace, trace.devices[0]);
  ASSERT_EQ(sums.size(), 5U);
  for (const Checksum& sum : sums) {
    EXPECT_EQ(sum.live_bytes, sum.stated_bytes) << "step " << sum.step;
    EXPECT_EQ(sum.differenceBytes(), 0U);
  }
  EXPECT_EQ(sums[1].step, 3U);
  EXPECT_EQ(trace.issues.count(IssueKind::kSnapshotChecksum), 0U);
}

TEST(StatedSums, UncertainBlocksExplainADifferenceUpToTheirSlack) {
  auto differenceFor = [](uint64_t stated) {
    TraceBuilder b;
    b.event(Action::kSnapshot, 0, stated).free(kA, 3 * kMiB);
    b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
    Trace trace = b.build();
    EXPECT_EQ(trace.issues.count(IssueKind::kSnapshotChecksum),
              snapshotChecksums(trace, trace.devices[0])[0].differenceBytes() > 0 ? 1U : 0U);
    return snapshotChecksums(trace, trace.devices[0])[0].differenceBytes();
  };
  EXPECT_EQ(differenceFor(3 * kMiB), 0U);
  EXPECT_EQ(differenceFor(3 * kMiB + kUnsplitRemainderBytes), 0U);
  EXPECT_EQ(differenceFor(3 * kMiB + kUnsplitRemainderBytes + 512), 512U);
  EXPECT_EQ(differenceFor(3 * kMiB - 512), 512U);  // never less than we know
}

}  // namespace
}  // namespace tidegauge::model
