// For any file, the lives keep their invariants: random events, dropped, doubled, shuffled, with
// zero and huge sizes, addresses near 2^64 and overlapping segments.
#include <gtest/gtest.h>

#include "model/lives/block_layout.h"
#include "support/messy_trace.h"

namespace tidegauge::model {
namespace {

void checkLives(const Trace& trace) {
  const Allocations& a = trace.allocations;
  uint64_t at = 0;
  for (const Device& device : trace.devices) {
    ASSERT_EQ(device.allocation_begin, at);
    at = device.allocation_end;
    for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
      ASSERT_LE(a.first_step[row], a.last_step[row]);
      ASSERT_LE(a.last_step[row], device.steps());
      ASSERT_GE(a.block_bytes[row], a.has(row, kBlockInferred) ? a.requested_bytes[row] : 0);
      if (row > device.allocation_begin) {
        ASSERT_GE(a.first_step[row], a.first_step[row - 1]);
      }
      if (a.free_requested_step[row] != kNoStep) {
        ASSERT_GE(a.free_requested_step[row], a.first_step[row]);
        ASSERT_LE(a.free_requested_step[row], a.last_step[row]);
      }
      bool older = a.provenance[row] == Provenance::kGhost ||
                   a.provenance[row] == Provenance::kBeforeRecording;
      if (older) {
        ASSERT_EQ(a.first_step[row], 0U);
      }
      if (a.provenance[row] == Provenance::kTraced) {
        ASSERT_TRUE(a.has(row, kAllocSeen));
      }
      if (a.segment[row].valid()) {
        ASSERT_GE(a.segment[row].index(), device.segment_begin);
        ASSERT_LT(a.segment[row].index(), device.segment_end);
      }
      blockSlackBytes(trace, row);
    }
  }
  ASSERT_EQ(at, a.size());
}

// Every alloc and free belongs to a life of its own address; every alloc begins exactly one.
void checkSubjects(const Trace& trace) {
  for (const Device& device : trace.devices) {
    uint64_t born = 0;
    for (uint64_t event = device.event_begin; event < device.event_end; ++event) {
      if (trace.events.action[event] > Action::kFree) continue;
      uint32_t row = trace.events.subject[event];
      ASSERT_GE(row, device.allocation_begin);
      ASSERT_LT(row, device.allocation_end);
      ASSERT_EQ(trace.allocations.address[row], trace.events.address[event]);
      if (trace.events.action[event] != Action::kAlloc) continue;
      ++born;
      ASSERT_TRUE(trace.allocations.has(row, kAllocSeen));
      ASSERT_EQ(trace.allocations.first_step[row], event - device.event_begin);
    }
    for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
      born -= trace.allocations.has(row, kAllocSeen);
    }
    ASSERT_EQ(born, 0U);
  }
}

// Two lives of one address never overlap, nor do two pieces share a byte at one time.
void checkNoOverlap(const Trace& trace) {
  const Allocations& a = trace.allocations;
  for (const Device& device : trace.devices) {
    for (uint64_t x = device.allocation_begin; x < device.allocation_end; ++x) {
      for (uint64_t y = x + 1; y < device.allocation_end; ++y) {
        if (a.address[x] != a.address[y]) continue;
        ASSERT_TRUE(a.last_step[x] <= a.first_step[y] || a.last_step[y] <= a.first_step[x])
            << "rows " << x << ", " << y;
        ASSERT_NE(a.version[x], a.version[y]);
      }
    }
    const Pieces& p = trace.pieces;
    for (uint64_t x = device.piece_begin; x < device.piece_end; ++x) {
      ASSERT_GT(p.address[x] + p.size_bytes[x], p.address[x]);
      ASSERT_LE(p.first_step[x], p.last_step[x]);
      ASSERT_LE(p.last_step[x], device.steps());
      for (uint64_t y = x + 1; y < device.piece_end; ++y) {
        bool apart_in_space = p.address[x] + p.size_bytes[x] <= p.address[y] ||
                              p.address[y] + p.size_bytes[y] <= p.address[x];
        bool apart_in_time = p.last_step[x] <= p.first_step[y] || p.last_step[y] <= p.first_step[x];
        ASSERT_TRUE(apart_in_space || apart_in_time) << "pieces " << x << ", " << y;
      }
    }
  }
}

// The generator is worth something only if it reaches every oddity.
TEST(MessyTraces, ReachEveryOddity) {
  Issues met;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Trace trace = testing::messyTrace({.seed = seed});
    for (const Issue& issue : trace.issues.all()) met.add(issue);
  }
  for (IssueKind kind :
       {IssueKind::kFreeWithoutAlloc, IssueKind::kAllocOverLive, IssueKind::kFreeAgain,
        IssueKind::kGoneWithoutFree, IssueKind::kFinalBlockOverlaps, IssueKind::kSizeMismatch,
        IssueKind::kSegmentContradiction, IssueKind::kOutsideSegments,
        IssueKind::kFinalTotalsDiffer, IssueKind::kFinalLiveDiffers,
        IssueKind::kSnapshotChecksum}) {
    EXPECT_GT(met.count(kind), 0U) << name(kind);
  }
}

TEST(MessyTraces, LivesKeepTheirPromises) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Trace trace = testing::messyTrace({.seed = seed, .wild = seed % 2 == 0});
    checkLives(trace);
    checkSubjects(trace);
    checkNoOverlap(trace);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tidegauge::model
