#include "model/lives/piece_lives.h"

#include <gtest/gtest.h>

#include "model/lives/blocks/owned_ranges.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::model {
namespace {

using testing::TraceBuilder;

struct Row {
  uint64_t mib, size_mib;  // from kA
  Step first, last;
  bool operator==(const Row&) const = default;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.mib << "+" << row.size_mib << " [" << row.first << ", " << row.last << ")";
}
std::vector<Row> piecesOf(const Trace& trace) {
  std::vector<Row> rows;
  for (size_t p = 0; p < trace.pieces.size(); ++p) {
    rows.push_back({(trace.pieces.address[p] - kA) / kMiB, trace.pieces.size_bytes[p] / kMiB,
                    trace.pieces.first_step[p], trace.pieces.last_step[p]});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.mib, a.first) < std::tie(b.mib, b.first);
  });
  return rows;
}
uint64_t contradictions(const Trace& trace) {
  return trace.issues.count(IssueKind::kSegmentContradiction);
}
TraceBuilder& inactive(TraceBuilder& b, uint64_t mib, uint64_t size_mib,
                       SegmentKind kind = SegmentKind::kLarge) {
  return b.finalSegment(kA + mib * kMiB, size_mib * kMiB, kind)
      .block(size_mib * kMiB, BlockState::kInactive);
}

TEST(PieceLives, AnOrdinarySegmentIsOneRowPerLife) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).segmentFree(kA, 20 * kMiB).segmentAlloc(kA, 22 * kMiB);
  inactive(b, 0, 22);
  Trace trace = b.build();
  ASSERT_EQ(trace.segments.size(), 2U);
  EXPECT_EQ(piecesOf(trace), (std::vector<Row>{{0, 20, 0, 1}, {0, 22, 2, 3}}));
  EXPECT_EQ(trace.segments.kind[0], SegmentKind::kLarge);
  EXPECT_EQ(trace.segments.provenance[0], Provenance::kTraced);
  EXPECT_EQ(trace.segments.provenance[1], Provenance::kTraced);
  EXPECT_EQ(trace.events.subject, (std::vector<uint32_t>{0, 0, 1}));
  EXPECT_EQ(trace.final_segments.segment[0], SegmentId(1));
  EXPECT_FALSE(trace.segments.pool[0].valid());  // freed before the file was written
  EXPECT_TRUE(trace.segments.pool[1].valid());
  EXPECT_EQ(contradictions(trace), 0U);
}

TEST(PieceLives, TheDrawingInTheHeader) {
  TraceBuilder b;
  b.map(kA, 20 * kMiB).map(kA + 20 * kMiB, 20 * kMiB).unmap(kA + 10 * kMiB, 20 * kMiB);
  inactive(b, 0, 10, SegmentKind::kExpandable);
  inactive(b, 30, 10, SegmentKind::kExpandable);
  inactive(b, 50, 10, SegmentKind::kExpandable);
  Trace trace = b.build();
  EXPECT_EQ(piecesOf(trace),
            (std::vector<Row>{
                {0, 10, 0, 3}, {10, 10, 0, 2}, {20, 10, 1, 2}, {30, 10, 1, 3}, {50, 10, 0, 3}}));
  ASSERT_EQ(trace.segments.size(), 2U);  // what touches is one reservation of addresses
  EXPECT_EQ(trace.segments.total_bytes[0] + trace.segments.total_bytes[1], 50 * kMiB);
  EXPECT_EQ(contradictions(trace), 0U);
}

TEST(PieceLives, OlderSegmentsAreKnownByTheirEndOrByTheFinalState) {
  TraceBuilder b;
  b.alloc(kA, 1).free(kA, 1).segmentFree(kA + 40 * kMiB, 20 * kMiB);
  inactive(b, 0, 20);
  Trace trace = b.build();
  EXPECT_EQ(piecesOf(trace), (std::vector<Row>{{0, 20, 0, 4}, {40, 20, 0, 3}}));
  EXPECT_EQ(trace.segments.provenance[0], Provenance::kGhost);
  EXPECT_EQ(trace.segments.provenance[1], Provenance::kBeforeRecording);
  EXPECT_EQ(trace.events.subject[3], 1U);
  EXPECT_EQ(contradictions(trace), 0U);
}

TEST(PieceLives, ASegmentThatTheFirstEventFreesKeepsItsSize) {
  TraceBuilder b;
  b.segmentFree(kA, 30 * kMiB);
  Trace trace = b.build();
  ASSERT_EQ(trace.segments.size(), 1U);
  EXPECT_EQ(trace.segments.total_bytes[0], 30 * kMiB);
  EXPECT_EQ(trace.segments.kind[0], SegmentKind::kLarge);
  EXPECT_EQ(piecesOf(trace), (std::vector<Row>{{0, 30, 0, 0}}));
}

TEST(PieceLives, AGivenRangeOverALiveOneEndsItAsLost) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).segmentAlloc(kA + 10 * kMiB, 20 * kMiB);
  inactive(b, 10, 20);
  Trace trace = b.build();
  EXPECT_GE(contradictions(trace), 1U);
  EXPECT_EQ(piecesOf(trace), (std::vector<Row>{{0, 10, 0, 2}, {10, 10, 0, 1}, {10, 20, 1, 2}}));
  EXPECT_EQ(trace.segments.provenance[0], Provenance::kLost);
}

TEST(PieceLives, AFreeAfterAFreeBeginsWhereTheFirstEnded) {
  TraceBuilder b;
  b.segmentFree(kA, 20 * kMiB).alloc(0, 1).segmentFree(kA, 20 * kMiB);
  Trace trace = b.build();
  // Never at step 0: the first one existed before it.
  EXPECT_EQ(piecesOf(trace), (std::vector<Row>{{0, 20, 0, 0}, {0, 20, 1, 2}}));
  EXPECT_EQ(trace.segments.provenance[1], Provenance::kLost);
  EXPECT_EQ(trace.events.subject[2], 1U);
  EXPECT_EQ(contradictions(trace), 1U);
}

TEST(PieceLives, AnUnmapOfMoreThanWasMappedFindsTheOlderParts) {
  TraceBuilder b;
  b.map(kA + 20 * kMiB, 20 * kMiB).map(kA + 60 * kMiB, 20 * kMiB).unmap(kA, 100 * kMiB);
  Trace trace = b.build();
  EXPECT_EQ(piecesOf(trace),
            (std::vector<Row>{
                {0, 20, 0, 2}, {20, 20, 0, 2}, {40, 20, 0, 2}, {60, 20, 1, 2}, {80, 20, 0, 2}}));
  EXPECT_EQ(contradictions(trace), 0U);
}

TEST(PieceLives, OverlappingFinalSegmentsShareNoByte) {
  TraceBuilder b;
  inactive(b, 10, 20);
  inactive(b, 0, 20);
  inactive(b, 5, 10);
  Trace trace = b.build();
  uint64_t bytes = 0;
  for (uint64_t size : trace.pieces.size_bytes) bytes += size;
  EXPECT_EQ(bytes, 30 * kMiB);
  EXPECT_EQ(contradictions(trace), 2U);
}

TEST(PieceLives, ASegmentThatVanishedIsKeptAndReported) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).segmentAlloc(kA + 40 * kMiB, 20 * kMiB);
  inactive(b, 40, 20);
  Trace trace = b.build();
  EXPECT_EQ(piecesOf(trace), (std::vector<Row>{{0, 20, 0, 2}, {40, 20, 1, 2}}));
  EXPECT_EQ(trace.segments.provenance[0], Provenance::kLost);
  EXPECT_EQ(contradictions(trace), 1U);
}

TEST(PieceLives, RangesWithoutBytesOrPastTheLastAddressAreContradictions) {
  TraceBuilder b;
  b.segmentAlloc(kA, 0).segmentAlloc(UINT64_MAX - 10, 20 * kMiB).segmentFree(UINT64_MAX, 1);
  b.finalSegment(UINT64_MAX - 10, 2 * kMiB);
  Trace trace = b.build();
  EXPECT_EQ(trace.segments.size(), 0U);
  EXPECT_EQ(contradictions(trace), 4U);
}

TEST(PieceLives, SizesBeyondSignedNumbersDoNotOverflow) {
  TraceBuilder b;
  uint64_t half = uint64_t{1} << 63;
  b.map(0, half).map(half, half - 1).unmap(0, half);
  b.finalSegment(half, half - 1, SegmentKind::kExpandable);
  Trace trace = b.build();
  ASSERT_EQ(trace.segments.size(), 1U);
  EXPECT_EQ(trace.segments.total_bytes[0], UINT64_MAX);
}

// One unmap of a range full of holes, and a pile of segments in descending order: linear or nearly
// so. With quadratic steps these would run for hours.
TEST(PieceLives, ManyHolesAndManyRangesStayFast) {
  constexpr uint64_t kRanges = 300'000;
  TraceBuilder b;
  b.map(kA, 2 * kMiB);
  for (uint64_t i = 0; i < kRanges; ++i) b.map(kA + (kRanges - i) * 4 * kMiB, 2 * kMiB);
  for (uint64_t i = 0; i < kRanges; ++i) b.alloc(kA + (kRanges - i) * 4 * kMiB, 64);
  b.unmap(kA, (kRanges + 1) * 4 * kMiB);
  Trace trace = b.build();
  EXPECT_EQ(trace.pieces.size(), 2 * (kRanges + 1));
}

TEST(PieceLives, ManyOverlappingFinalSegmentsStayFast) {
  constexpr uint64_t kSegments = 100'000;
  TraceBuilder b;
  for (uint64_t i = 0; i < kSegments; ++i) b.finalSegment(kA + i * 512, 1024 * kMiB);
  Trace trace = b.build();
  EXPECT_EQ(contradictions(trace), kSegments - 1);
}

TEST(OwnedRanges, FollowsTheSteps) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 1).segmentFree(kA, 20 * kMiB).segmentAlloc(kA, 2 * kMiB);
  inactive(b, 0, 2, SegmentKind::kSmall);
  Trace trace = b.build();
  OwnedRanges owned(trace, trace.devices[0]);
  EXPECT_FALSE(owned.find(kA).valid());
  owned.advanceTo(0);
  EXPECT_EQ(owned.find(kA), SegmentId(0));
  EXPECT_EQ(owned.find(kA + 20 * kMiB - 1), SegmentId(0));
  EXPECT_FALSE(owned.find(kA + 20 * kMiB).valid());
  EXPECT_FALSE(owned.find(kA - 1).valid());
  owned.advanceTo(2);
  EXPECT_FALSE(owned.find(kA).valid());
  owned.advanceTo(3);
  EXPECT_EQ(owned.find(kA), SegmentId(1));
  EXPECT_FALSE(owned.find(kA + 2 * kMiB).valid());
}

}  // namespace
}  // namespace tidegauge::model
