#include "model/lives/block_layout.h"

#include <gtest/gtest.h>

#include "model/block_size.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::model {
namespace {

using testing::TraceBuilder;

// One large segment with two requests; the second one is tested.
Trace twoInASegment(uint64_t first, uint64_t second, uint64_t segment,
                    uint64_t max_split = kUnknownBytes) {
  TraceBuilder b;
  b.settings().max_split_bytes = max_split;
  b.segmentAlloc(kA, segment).alloc(kA, first).alloc(kA + first, second);
  b.free(kA + first, second).free(kA, first);
  b.finalSegment(kA, segment).block(segment, BlockState::kInactive);
  return b.build();
}

TEST(BlockLayout, KeepsARemainderOfExactlyOneMebibyte) {
  Trace trace = twoInASegment(3 * kMiB, 16 * kMiB, 20 * kMiB);
  EXPECT_EQ(trace.allocations.block_bytes[1], 17 * kMiB);
}

TEST(BlockLayout, SplitsOffOneMebibyteAnd512Bytes) {
  Trace trace = twoInASegment(3 * kMiB, 16 * kMiB - 512, 20 * kMiB);
  EXPECT_EQ(trace.allocations.block_bytes[1], 16 * kMiB - 512);
}

TEST(BlockLayout, LooksAtTheNextLiveBlockNotOnlyAtTheEnd) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB);
  b.alloc(kA, 4 * kMiB).alloc(kA + 4 * kMiB, 6 * kMiB).free(kA, 4 * kMiB);
  b.alloc(kA, 3 * kMiB + 512 * 3);  // 1 MiB − 1,536 B would be left before the second
  b.finalSegment(kA, 20 * kMiB);
  b.block(4 * kMiB, BlockState::kActiveAllocated, 3 * kMiB + 512 * 3);
  b.block(6 * kMiB, BlockState::kActiveAllocated, 6 * kMiB);
  b.block(10 * kMiB, BlockState::kInactive);
  b.free(kA, 3 * kMiB + 512 * 3).alloc(kA, 3 * kMiB);
  Trace trace = b.build();
  ASSERT_EQ(trace.allocations.size(), 4U);
  EXPECT_EQ(trace.allocations.block_bytes[2], 4 * kMiB);  // inferred
  EXPECT_TRUE(trace.allocations.has(2, kBlockInferred));
  EXPECT_FALSE(trace.allocations.has(2, kBlockUncertain));
  EXPECT_EQ(trace.allocations.block_bytes[3], 4 * kMiB);  // read from the final state
  EXPECT_FALSE(trace.allocations.has(3, kBlockInferred));
}

TEST(BlockLayout, SmallPoolsAreRoundedOnly) {
  TraceBuilder b;
  b.segmentAlloc(kA, 2 * kMiB).alloc(kA, 1000);
  b.free(kA, 1000).finalSegment(kA, 2 * kMiB, SegmentKind::kSmall);
  b.block(2 * kMiB, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(trace.allocations.block_bytes[0], 1024U);
  EXPECT_FALSE(trace.allocations.has(0, kBlockUncertain));
}

TEST(BlockLayout, ExpandableSegmentsAreRoundedOnly) {
  TraceBuilder b;
  b.settings().expandable_segments = true;
  b.map(kA, 20 * kMiB).alloc(kA, 19 * kMiB + 512).free(kA, 19 * kMiB + 512);
  b.finalSegment(kA, 20 * kMiB, SegmentKind::kExpandable);
  b.block(20 * kMiB, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(trace.allocations.block_bytes[0], 19 * kMiB + 512);
  EXPECT_FALSE(trace.allocations.has(0, kBlockUncertain));
}

TEST(BlockLayout, OversizeRequestsTakeTheWholeBlock) {
  // At least max_split_size: never split; below it: as usual.
  EXPECT_EQ(twoInASegment(3 * kMiB, 25 * kMiB, 32 * kMiB, 25 * kMiB).allocations.block_bytes[1],
            29 * kMiB);
  EXPECT_EQ(
      twoInASegment(3 * kMiB, 25 * kMiB - 512, 32 * kMiB, 25 * kMiB).allocations.block_bytes[1],
      25 * kMiB - 512);
}

TEST(BlockLayout, BlocksOlderThanTheRecordingStayUncertain) {
  TraceBuilder b;
  b.free(kA, 3 * kMiB);
  b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(trace.allocations.block_bytes[0], 3 * kMiB);
  EXPECT_TRUE(trace.allocations.has(0, kBlockUncertain));
  EXPECT_EQ(blockSlackBytes(trace, 0), kUnsplitRemainderBytes);
}

TEST(BlockLayout, SlackIsLargerForOversizeAndNoneForTheSmall) {
  TraceBuilder b;
  b.settings().max_split_bytes = 20 * kMiB;
  b.free(kA, 30 * kMiB).free(kA + 40 * kMiB, 1000);
  b.finalSegment(kA, 60 * kMiB).block(60 * kMiB, BlockState::kInactive);
  Trace trace = b.build();
  // Drawing order: the longer life is lower.
  ASSERT_EQ(trace.allocations.requested_bytes[1], 30 * kMiB);
  EXPECT_EQ(blockSlackBytes(trace, 1), 20 * kMiB);
  TraceBuilder small;
  small.free(kA, 1000).finalSegment(kA, 2 * kMiB, SegmentKind::kSmall);
  small.block(2 * kMiB, BlockState::kInactive);
  EXPECT_EQ(blockSlackBytes(small.build(), 0), 0U);
}

TEST(BlockLayout, AContradictionIsUncertainNotExact) {
  // The second alloc is at a live address: the size of its block is unknown.
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 3 * kMiB).alloc(kA, 4 * kMiB);
  b.free(kA, 4 * kMiB).finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(trace.allocations.block_bytes[1], 4 * kMiB);
  EXPECT_TRUE(trace.allocations.has(1, kBlockUncertain));
}

TEST(BlockLayout, ABlockLongerThanItsSegmentKeepsItsRoundedSize) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 30 * kMiB).free(kA, 30 * kMiB);
  b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(trace.allocations.block_bytes[0], 30 * kMiB);
  EXPECT_TRUE(trace.allocations.has(0, kBlockUncertain));
}

}  // namespace
}  // namespace tidegauge::model
