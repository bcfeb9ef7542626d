// One test per oddity of a file: the resulting life of the block, and how it is reported.
#include "model/lives/lives.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::model {
namespace {

using testing::TraceBuilder;

constexpr uint64_t kB = kA + 0x10000, kC = kA + 0x20000;

// A small segment that existed all the time; `free_bytes` more follow the given blocks.
TraceBuilder& inSegment(TraceBuilder& b) {
  return b.finalSegment(kA, 2 * kMiB, SegmentKind::kSmall);
}
Trace withoutFinalBlocks(TraceBuilder& b) {
  return inSegment(b).block(2 * kMiB, BlockState::kInactive).build();
}

struct Life {
  Step first, last;
  Provenance provenance;
  bool operator==(const Life&) const = default;
};
void PrintTo(const Life& life, std::ostream* out) {
  *out << '[' << life.first << ", " << life.last << ") " << name(life.provenance);
}
Life lifeOf(const Trace& trace, size_t row) {
  return {trace.allocations.first_step[row], trace.allocations.last_step[row],
          trace.allocations.provenance[row]};
}

// The kinds found, except those that only repeat the difference at the end.
std::vector<std::string> kindsOf(const Trace& trace) {
  std::vector<std::string> kinds;
  for (const Issue& issue : trace.issues.all()) {
    if (issue.kind != IssueKind::kFinalLiveDiffers) kinds.emplace_back(name(issue.kind));
  }
  return kinds;
}
using Kinds = std::vector<std::string>;

TEST(Lives, ARecordedLifeIsTraced) {
  TraceBuilder b;
  b.alloc(kA, 700).freeRequested(kA, 700).alloc(kB, 1).freeCompleted(kA, 700).free(kB, 1);
  Trace trace = withoutFinalBlocks(b);
  ASSERT_EQ(trace.allocations.size(), 2U);
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 3, Provenance::kTraced}));
  EXPECT_EQ(trace.allocations.free_requested_step[0], 1U);
  EXPECT_EQ(trace.allocations.block_bytes[0], 1024U);
  EXPECT_EQ(trace.allocations.requested_bytes[0], 700U);
  EXPECT_EQ(trace.allocations.flags[0], kAllocSeen | kFreeCompletedSeen | kBlockInferred);
  EXPECT_EQ(trace.events.subject, (std::vector<uint32_t>{0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(kindsOf(trace), Kinds{});
}

TEST(Lives, AFinalBlockEndsAnOpenLife) {
  TraceBuilder b;
  b.alloc(kA, 700);
  inSegment(b).block(1536, BlockState::kActiveAllocated, 700);
  b.block(2 * kMiB - 1536, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 1, Provenance::kTraced}));
  // the file's own size, not the computed rounding
  EXPECT_EQ(trace.allocations.block_bytes[0], 1536U);
  EXPECT_EQ(trace.allocations.flags[0], kAllocSeen | kInFinalState);
  EXPECT_EQ(trace.final_blocks.allocation[0], AllocationId(0));
  EXPECT_FALSE(trace.final_blocks.allocation[1].valid());
}

TEST(Lives, FreeWithoutAllocIsOlder) {
  TraceBuilder b;
  b.stack({"free_it@user.py:9"}).alloc(kB, 1).free(kB, 1).free(kA, 700);
  Trace trace = withoutFinalBlocks(b);
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 4, Provenance::kBeforeRecording}));
  EXPECT_EQ(trace.allocations.flags[0], kFreeCompletedSeen | kBlockInferred | kStackIsOfFree);
  EXPECT_TRUE(trace.allocations.stack[0].valid());
  EXPECT_EQ(kindsOf(trace), Kinds{"free_without_alloc"});
  EXPECT_EQ(trace.issues.all()[0].bytes, 1024U);
  EXPECT_EQ(trace.issues.all()[0].first_step, 3U);
}

TEST(Lives, AFinalBlockThatNothingRecordedIsAGhost) {
  TraceBuilder b;
  b.alloc(kB, 1).free(kB, 1);
  inSegment(b).block(1024, BlockState::kActiveAllocated, 700);
  b.block(2 * kMiB - 1024, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 3, Provenance::kGhost}));
  EXPECT_EQ(trace.allocations.flags[0], kInFinalState);
  EXPECT_EQ(kindsOf(trace), Kinds{});
}

TEST(Lives, APendingGhostWasFreedBeforeTheRecording) {
  TraceBuilder b;
  b.alloc(kB, 1).free(kB, 1);
  inSegment(b).block(1024, BlockState::kActivePendingFree, 700);
  b.block(2 * kMiB - 1024, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(trace.allocations.free_requested_step[0], 0U);
  EXPECT_TRUE(trace.allocations.has(0, kPendingAtEnd));
}

TEST(Lives, AGhostBeginsAfterARecordedLifeInsideItsRange) {
  TraceBuilder b;
  b.alloc(kA + 1024, 512).free(kA + 1024, 512).alloc(kC, 1).free(kC, 1);
  inSegment(b).block(4096, BlockState::kActiveAllocated, 4000);
  b.block(2 * kMiB - 4096, BlockState::kInactive);
  Trace trace = b.build();
  ASSERT_EQ(trace.allocations.size(), 3U);
  EXPECT_EQ(trace.allocations.address[1], kA);  // merged at its begin
  EXPECT_EQ(lifeOf(trace, 1), (Life{2, 6, Provenance::kLost}));
  EXPECT_EQ(trace.final_blocks.allocation[0], AllocationId(1));
  EXPECT_EQ(trace.events.subject, (std::vector<uint32_t>{0, 0, 0, 2, 2, 2}));
  EXPECT_EQ(kindsOf(trace), Kinds{"final_block_overlaps"});
}

// Without free_completed events a request ends the life inside the ghost's range.
TEST(Lives, AGhostIsCutByALifeWithOnlyAFreeRequest) {
  TraceBuilder b;
  b.alloc(kA + 1024, 512).freeRequested(kA + 1024, 512).alloc(kC, 1).freeRequested(kC, 1);
  inSegment(b).block(4096, BlockState::kActiveAllocated, 4000);
  b.block(2 * kMiB - 4096, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(lifeOf(trace, 1), (Life{1, 4, Provenance::kLost}));
}

TEST(Lives, AGhostIsCutByALifeThatTheFirstEventEnded) {
  TraceBuilder b;
  b.freeCompleted(kA + 1024, 512).alloc(kC, 1).free(kC, 1);
  inSegment(b).block(4096, BlockState::kActiveAllocated, 4000);
  b.block(2 * kMiB - 4096, BlockState::kInactive);
  Trace trace = b.build();
  size_t ghost = trace.final_blocks.allocation[0].index();
  EXPECT_EQ(lifeOf(trace, ghost), (Life{0, 4, Provenance::kLost}));
  EXPECT_EQ(trace.issues.count(IssueKind::kFinalBlockOverlaps), 1U);
}

TEST(Lives, AllocOverALiveBlockEndsItAsLost) {
  TraceBuilder b;
  b.alloc(kA, 700).alloc(kB, 1).alloc(kA, 300).free(kA, 300).free(kB, 1);
  Trace trace = withoutFinalBlocks(b);
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 2, Provenance::kLost}));
  EXPECT_EQ(lifeOf(trace, 2), (Life{2, 4, Provenance::kTraced}));
  EXPECT_EQ(kindsOf(trace), Kinds{"alloc_over_live"});
}

TEST(Lives, FreeAgainBeginsWhereTheLastLifeEnded) {
  TraceBuilder b;
  b.alloc(kA, 700).free(kA, 700).alloc(kB, 1).free(kA, 300).free(kB, 1);
  Trace trace = withoutFinalBlocks(b);
  ASSERT_EQ(trace.allocations.size(), 3U);
  EXPECT_EQ(lifeOf(trace, 1), (Life{2, 5, Provenance::kLost}));
  EXPECT_EQ(trace.allocations.requested_bytes[1], 300U);
  EXPECT_EQ(lifeOf(trace, 2), (Life{3, 7, Provenance::kTraced}));
  EXPECT_EQ(trace.events.subject, (std::vector<uint32_t>{0, 0, 0, 2, 1, 1, 2, 2}));
  EXPECT_EQ(kindsOf(trace), Kinds{"free_again"});
}

TEST(Lives, ABlockIsFreedOnceSoThereWasALifeBetween) {
  TraceBuilder b;
  b.alloc(kA, 700).freeRequested(kA, 700).alloc(kB, 1).freeRequested(kA, 300);
  b.freeCompleted(kA, 300).free(kB, 1);
  Trace trace = withoutFinalBlocks(b);
  ASSERT_EQ(trace.allocations.size(), 3U);
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 1, Provenance::kTraced}));
  EXPECT_EQ(lifeOf(trace, 1), (Life{1, 4, Provenance::kLost}));
  EXPECT_EQ(kindsOf(trace), Kinds{"free_again"});
}

TEST(Lives, GoneWithoutFreeIsDrawnToTheEnd) {
  TraceBuilder b;
  b.alloc(kA, 700).alloc(kB, 1).free(kB, 1);
  Trace trace = withoutFinalBlocks(b);
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 4, Provenance::kLost}));
  EXPECT_EQ(kindsOf(trace), Kinds{"gone_without_free"});
}

TEST(Lives, AFinalBlockAtAFreedAddressIsLostNotOlder) {
  TraceBuilder b;
  b.alloc(kA, 700).free(kA, 700).alloc(kB, 1).free(kB, 1);
  inSegment(b).block(1024, BlockState::kActiveAllocated, 900);
  b.block(2 * kMiB - 1024, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(lifeOf(trace, 1), (Life{2, 6, Provenance::kLost}));
  EXPECT_EQ(kindsOf(trace), Kinds{"final_block_overlaps"});
}

TEST(Lives, AFinalLiveBlockIsNotTheFreedOne) {
  TraceBuilder b;
  b.alloc(kA, 700).freeRequested(kA, 700);
  inSegment(b).block(1024, BlockState::kActiveAllocated, 900);
  b.block(2 * kMiB - 1024, BlockState::kInactive);
  Trace trace = b.build();
  ASSERT_EQ(trace.allocations.size(), 2U);
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 1, Provenance::kTraced}));
  EXPECT_EQ(lifeOf(trace, 1), (Life{1, 2, Provenance::kLost}));
  EXPECT_EQ(trace.allocations.requested_bytes[1], 900U);
}

TEST(Lives, PendingAtTheEndStaysLiveToTheEnd) {
  TraceBuilder b;
  b.alloc(kA, 700).freeRequested(kA, 700).alloc(kB, 1).free(kB, 1);
  inSegment(b).block(1024, BlockState::kActivePendingFree, 700);
  b.block(2 * kMiB - 1024, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 5, Provenance::kTraced}));
  EXPECT_EQ(trace.allocations.free_requested_step[0], 1U);
  EXPECT_TRUE(trace.allocations.has(0, kPendingAtEnd));
  EXPECT_EQ(kindsOf(trace), Kinds{});
}

TEST(Lives, TwoFinalBlocksAtOneAddressAreCountedOnce) {
  TraceBuilder b;
  inSegment(b).block(1024, BlockState::kActiveAllocated, 700);
  b.block(2 * kMiB - 1024, BlockState::kInactive);
  inSegment(b).block(1024, BlockState::kActiveAllocated, 700);
  b.block(2 * kMiB - 1024, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(trace.allocations.size(), 1U);
  EXPECT_EQ(trace.issues.count(IssueKind::kFinalBlockOverlaps), 1U);
}

TEST(Lives, DifferentSizesOfOneBlockAreNoted) {
  TraceBuilder b;
  b.alloc(kA, 700).free(kA, 900);
  Trace trace = withoutFinalBlocks(b);
  EXPECT_EQ(trace.allocations.requested_bytes[0], 700U);
  ASSERT_EQ(kindsOf(trace), Kinds{"size_mismatch"});
  EXPECT_EQ(trace.issues.count(IssueKind::kSizeMismatch), 2U);
}

TEST(Lives, BlocksOutsideEverySegmentAreNoted) {
  TraceBuilder b;
  b.alloc(0x1000, 700).free(0x1000, 700);
  Trace trace = withoutFinalBlocks(b);
  EXPECT_FALSE(trace.allocations.segment[0].valid());
  EXPECT_EQ(kindsOf(trace), Kinds{"outside_segments"});
}

// ---- recordings with skip_actions ---------------------------------------------------------------

TEST(Lives, WithoutFreeCompletedARequestEndsTheLife) {
  TraceBuilder b;
  b.alloc(kA, 700).freeRequested(kA, 700).alloc(kA, 300).freeRequested(kA, 300);
  Trace trace = withoutFinalBlocks(b);
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 1, Provenance::kTraced}));
  EXPECT_EQ(lifeOf(trace, 1), (Life{2, 3, Provenance::kTraced}));
  EXPECT_EQ(kindsOf(trace), Kinds{});
}

TEST(Lives, WithoutFreeRequestedTheCompletionEndsTheLife) {
  TraceBuilder b;
  b.alloc(kA, 700).freeCompleted(kA, 700).alloc(kA, 300).freeCompleted(kA, 300);
  Trace trace = withoutFinalBlocks(b);
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 1, Provenance::kTraced}));
  EXPECT_EQ(trace.allocations.free_requested_step[0], kNoStep);
  EXPECT_EQ(lifeOf(trace, 1), (Life{2, 3, Provenance::kTraced}));
  EXPECT_EQ(kindsOf(trace), Kinds{});
}

TEST(Lives, WithoutAllocsEveryFreeIsSomethingOlder) {
  TraceBuilder b;
  b.free(kA, 700).free(kA, 300).free(kA, 300);
  Trace trace = withoutFinalBlocks(b);
  ASSERT_EQ(trace.allocations.size(), 3U);
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 1, Provenance::kBeforeRecording}));
  EXPECT_EQ(lifeOf(trace, 1), (Life{1, 3, Provenance::kLost}));
  EXPECT_EQ(lifeOf(trace, 2), (Life{3, 5, Provenance::kLost}));
}

TEST(Lives, TheFoldedFreeOfRewrittenFilesEndsTheLife) {
  TraceBuilder b;
  b.alloc(kA, 700).event(Action::kFree, kA, 700).event(Action::kFree, kB, 100);
  Trace trace = withoutFinalBlocks(b);
  ASSERT_EQ(trace.allocations.size(), 2U);
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 2, Provenance::kBeforeRecording}));
  EXPECT_EQ(lifeOf(trace, 1), (Life{0, 1, Provenance::kTraced}));
  EXPECT_EQ(trace.allocations.free_requested_step[1], 1U);
  EXPECT_TRUE(trace.allocations.has(1, kFreeCompletedSeen));
}

// ---- devices ------------------------------------------------------------------------------------

TEST(Lives, EqualAddressesOnTwoDevicesAreTwoBlocks) {
  TraceBuilder b;
  for (int32_t ordinal : {1, 0}) {
    b.device(ordinal).segmentAlloc(kA, 2 * kMiB).alloc(kA, 700).free(kA, 700).alloc(kA, 300);
    inSegment(b).block(512, BlockState::kActiveAllocated, 300);
    b.block(2 * kMiB - 512, BlockState::kInactive);
  }
  Trace trace = b.build();
  ASSERT_EQ(trace.devices.size(), 2U);
  EXPECT_EQ(trace.devices[0].ordinal, 0);
  ASSERT_EQ(trace.allocations.size(), 4U);
  for (size_t device = 0; device < 2; ++device) {
    EXPECT_EQ(lifeOf(trace, 2 * device), (Life{1, 3, Provenance::kTraced}));
    EXPECT_EQ(lifeOf(trace, 2 * device + 1), (Life{4, 5, Provenance::kTraced}));
    EXPECT_EQ(trace.allocations.version[2 * device], 0U);  // counted per device
    EXPECT_EQ(trace.allocations.version[2 * device + 1], 1U);
    EXPECT_EQ(&trace.deviceOfAllocation(AllocationId(static_cast<uint32_t>(2 * device))),
              &trace.devices[device]);
  }
  EXPECT_EQ(trace.events.subject[5], 1U);  // device 1: its segment is row 1
  EXPECT_EQ(trace.events.subject[6], 2U);
  EXPECT_EQ(kindsOf(trace), Kinds{});
}

TEST(Lives, ADeviceWithoutEventsHasItsFinalState) {
  TraceBuilder b;
  inSegment(b).block(1024, BlockState::kActiveAllocated, 700);
  b.block(2 * kMiB - 1024, BlockState::kInactive);
  Trace trace = b.build();
  ASSERT_EQ(trace.allocations.size(), 1U);
  EXPECT_EQ(lifeOf(trace, 0), (Life{0, 0, Provenance::kGhost}));
  EXPECT_EQ(trace.segments.provenance[0], Provenance::kGhost);
  EXPECT_EQ(kindsOf(trace), Kinds{});
}

// ---- versions, order, annotations ---------------------------------------------------------------

TEST(Lives, VersionsCountCompletedFreesOfTheAddress) {
  TraceBuilder b;
  b.free(kA, 700);                                   // _0
  b.alloc(kA, 1).free(kA, 1);                        // _1
  b.alloc(kA, 2).freeRequested(kA, 2).alloc(kB, 5);  // _2, and _0 at another address
  b.freeCompleted(kA, 2).free(kB, 5);
  inSegment(b).block(512, BlockState::kActiveAllocated, 3);  // _3
  b.block(2 * kMiB - 512, BlockState::kInactive);
  Trace trace = b.build();
  std::vector<std::pair<uint64_t, uint32_t>> versions;
  for (size_t row = 0; row < trace.allocations.size(); ++row) {
    versions.emplace_back(trace.allocations.requested_bytes[row], trace.allocations.version[row]);
  }
  std::sort(versions.begin(), versions.end());
  EXPECT_EQ(versions,
            (std::vector<std::pair<uint64_t, uint32_t>>{{1, 1}, {2, 2}, {3, 3}, {5, 0}, {700, 0}}));
}

TEST(Lives, TheLongestLivedLieLowest) {
  TraceBuilder b;
  b.alloc(kC, 1).free(kA + 8192, 20).free(kA + 4096, 30).free(kC, 1);
  inSegment(b).block(512, BlockState::kActiveAllocated, 10);
  b.block(2 * kMiB - 512, BlockState::kInactive);
  Trace trace = b.build();
  EXPECT_EQ(trace.allocations.requested_bytes, (std::vector<uint64_t>{10, 30, 20, 1}));
}

TEST(Lives, AnAnnotationBelongsToTheBlockThatIsLiveThere) {
  TraceBuilder b;
  b.alloc(kA, 700).event(Action::kAnnotate, kA, 700).free(kA, 700);
  b.event(Action::kAnnotate, kA, 700).event(Action::kAnnotate, kC, 1);
  Trace trace = withoutFinalBlocks(b);
  EXPECT_EQ(trace.events.subject, (std::vector<uint32_t>{0, 0, 0, 0, UINT32_MAX, UINT32_MAX}));
}

TEST(Lives, ADeviceWithoutEventsHasNoFirstStep) {
  TraceBuilder b;  // a final block outside every piece, in a segment that contradicts itself
  inSegment(b).block(512, BlockState::kActiveAllocated, 10).block(8 * kMiB, BlockState::kInactive);
  inSegment(b).block(512, BlockState::kActiveAllocated, 10);
  Trace trace = b.build();
  ASSERT_FALSE(trace.issues.all().empty());
  for (const Issue& issue : trace.issues.all()) {
    EXPECT_EQ(issue.first_step, Issue::kNone) << name(issue.kind);
  }
}

TEST(Lives, ARoundNumberOfEventsWithOlderFreesLooksLikeAFullRing) {
  auto overflows = [](int events, bool older) {
    TraceBuilder b;
    if (older) b.freeCompleted(kC, 64);
    for (int i = older ? 1 : 0; i < events; i += 1) {
      i % 2 != 0 ? b.alloc(kA, 64) : b.freeCompleted(kA, 64);
    }
    Trace trace = withoutFinalBlocks(b);
    return trace.issues.count(IssueKind::kRingOverflow);
  };
  EXPECT_EQ(overflows(10000, true), 1U);
  EXPECT_EQ(overflows(10001, true), 0U);
  EXPECT_EQ(overflows(9000, true), 0U);
}

}  // namespace
}  // namespace tidegauge::model
