// What a recording lacks: one test per way in which it shows. The bounds that follow are compared
// with a simulated heap in tests/twin/missing_actions_twin.cpp.
#include "model/lives/missing_actions.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::model {
namespace {

using testing::TraceBuilder;

constexpr uint64_t kElsewhere = kA + 4 * kMiB;

std::string missingIn(TraceBuilder& b) { return namesOf(b.build().devices[0].missing); }
Trace finished(TraceBuilder& b) {
  return b.finalSegment(kA, 2 * kMiB, SegmentKind::kSmall)
      .block(2 * kMiB, BlockState::kInactive)
      .build();
}

TEST(MissingActions, NothingIsMissingInShortOrLateRecordings) {
  TraceBuilder never_frees, only_frees, late;
  never_frees.alloc(kA, 1).alloc(kA + 512, 1);
  EXPECT_EQ(missingIn(never_frees), "");
  only_frees.free(kA, 1).free(kA + 512, 1);
  EXPECT_EQ(missingIn(only_frees), "");
  late.freeCompleted(kA, 1).alloc(kA, 1).free(kA, 1);
  EXPECT_EQ(missingIn(late), "");
}

// One contradiction may have other reasons.
TEST(MissingActions, TwoContradictionsAreNoProof) {
  TraceBuilder two, three;
  for (int i = 0; i < 3; ++i) two.free(kA, 512);
  for (int i = 0; i < 4; ++i) three.free(kA, 512);
  EXPECT_EQ(missingIn(two), "");
  EXPECT_EQ(missingIn(three), "alloc");
}

TEST(MissingActions, FreesOfOneAddressNeedAllocs) {
  TraceBuilder b;
  for (int i = 0; i < 4; ++i) b.free(kA, 512);
  Trace trace = finished(b);
  EXPECT_EQ(namesOf(trace.devices[0].missing), "alloc");
  EXPECT_EQ(trace.issues.count(IssueKind::kMissingActions), 1U);
  EXPECT_EQ(trace.issues.count(IssueKind::kFreeAgain), 0U);
  // The second begins where the first ends, at the earliest.
  EXPECT_EQ(trace.allocations.first_step, (std::vector<Step>{0, 1, 3, 5}));
  EXPECT_EQ(boundsOf(trace.devices[0]).active, Bound::kAtMost);
  EXPECT_EQ(certainLife(trace, trace.devices[0], 1).first, 1U);
  EXPECT_EQ(certainLife(trace, trace.devices[0], 1).last, 3U);
}

TEST(MissingActions, AllocsOfOneAddressNeedFrees) {
  TraceBuilder b;
  for (int i = 0; i < 4; ++i) b.alloc(kA, 512);
  b.alloc(kA + 512, 512);
  Trace trace = finished(b);
  EXPECT_EQ(namesOf(trace.devices[0].missing), "free_requested, free_completed");
  EXPECT_EQ(trace.allocations.last_step, (std::vector<Step>{1, 2, 3, 4, 4}));
  EXPECT_EQ(trace.issues.count(IssueKind::kGoneWithoutFree), 0U);
}

// A block of another size at another address ends what it overlaps.
TEST(MissingActions, ALifeEndsWhereABlockOverlapsIt) {
  TraceBuilder b;
  for (int i = 0; i < 4; ++i) b.alloc(kA, 512);
  b.alloc(kA + 1024, 2048).alloc(kA + 512, 1024).alloc(kA + 4096, 1);
  Trace trace = finished(b);
  EXPECT_EQ(trace.allocations.last_step[4], 5U);
}

TEST(MissingActions, OneHalfOfTheFrees) {
  TraceBuilder requests, completions;
  for (int i = 0; i < 4; ++i) {
    requests.alloc(kA, 1).freeRequested(kA, 1);
    completions.alloc(kA, 1).freeCompleted(kA, 1);
  }
  EXPECT_EQ(missingIn(requests), "free_completed");
  EXPECT_EQ(missingIn(completions), "free_requested");
}

TEST(MissingActions, BlocksOutsideEverySegmentNeedSegments) {
  TraceBuilder b;
  b.alloc(kA, 512);
  for (int i = 0; i < 3; ++i) b.alloc(kElsewhere, 3 * kMiB).free(kElsewhere, 3 * kMiB);
  b.finalSegment(kA, 2 * kMiB, SegmentKind::kSmall).block(512, BlockState::kActiveAllocated, 512);
  b.block(2 * kMiB - 512, BlockState::kInactive);
  Trace trace = b.build();
  const Device& device = trace.devices[0];
  EXPECT_EQ(namesOf(device.missing), "segment_alloc, segment_free");
  EXPECT_EQ(boundsOf(device).reserved, Bound::kAtLeast);
  // One for each time: nothing proves that it stayed between them.
  ASSERT_EQ(device.segment_end - device.segment_begin, 4U);
  EXPECT_EQ(trace.segments.kind[1], SegmentKind::kUnknown);
  EXPECT_EQ(trace.segments.address[1], kElsewhere);
  EXPECT_EQ(trace.segments.total_bytes[1], 3 * kMiB);
  EXPECT_EQ(trace.segments.first_step[1], 1U);
  EXPECT_EQ(trace.segments.last_step[1], 3U);
  EXPECT_TRUE(trace.allocations.segment[1].valid());
  EXPECT_EQ(trace.issues.count(IssueKind::kOutsideSegments), 0U);
}

TEST(MissingActions, SegmentsThatBeginInOneAnotherNeedSegmentFrees) {
  TraceBuilder b;
  for (uint64_t i = 1; i < 5; ++i) b.segmentAlloc(kA, 2 * i * kMiB).alloc(kA, i).free(kA, i);
  b.finalSegment(kA, 8 * kMiB).block(8 * kMiB, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(namesOf(trace.devices[0].missing), "segment_free");
  EXPECT_EQ(boundsOf(trace.devices[0]).reserved, Bound::kAtMost);
  EXPECT_EQ(trace.issues.count(IssueKind::kSegmentContradiction), 0U);
}

// Nothing was allocated at first, and each segment is as large as its first block needs.
TEST(MissingActions, SegmentsOfTheSizeOfTheirFirstBlockNeedSegmentAllocs) {
  auto recorded = [](uint64_t first_bytes) {
    TraceBuilder b;
    b.alloc(kA, first_bytes);
    for (uint64_t i = 1; i < 4; ++i) b.alloc(kA + 64 * i * kMiB, 30 * kMiB);
    b.finalSegment(kA, 12 * kMiB).block(12 * kMiB, BlockState::kActiveAllocated, first_bytes);
    for (uint64_t i = 1; i < 4; ++i) {
      b.finalSegment(kA + 64 * i * kMiB, 30 * kMiB);
      b.block(30 * kMiB, BlockState::kActiveAllocated, 30 * kMiB);
    }
    return b.build();
  };
  Trace trace = recorded(11 * kMiB);
  EXPECT_EQ(namesOf(trace.devices[0].missing), "segment_alloc");
  EXPECT_EQ(trace.segments.first_step, (std::vector<Step>{0, 1, 2, 3}));
  // A cache that was warm serves other sizes, too.
  EXPECT_EQ(namesOf(recorded(9 * kMiB).devices[0].missing), "");
}

// Segments that the driver gave, and no block in them.
TEST(MissingActions, SegmentsNeedBlocks) {
  TraceBuilder b;
  for (uint64_t i = 0; i < 3; ++i) b.segmentAlloc(kA + 4 * i * kMiB, 2 * kMiB);
  b.segmentFree(kA, 2 * kMiB);
  Trace trace = b.build();
  EXPECT_EQ(namesOf(trace.devices[0].missing), "alloc, free_requested, free_completed");
  EXPECT_TRUE(blocksAreUnseen(trace, trace.devices[0]));
}

}  // namespace
}  // namespace tidegauge::model
