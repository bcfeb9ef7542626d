#include "analysis/oom/oom_verdict.h"

#include <gtest/gtest.h>

#include "analysis/oom/advice.h"
#include "model/recorded_work.h"
#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using model::BlockState;
using testing::TraceBuilder;

// The verdict on the last out-of-memory event of a built trace.
struct Judged {
  AnalysedTrace analysed;
  std::vector<OomReport> ooms;
  OomVerdict verdict;
  explicit Judged(TraceBuilder& b, std::optional<uint64_t> total_bytes = {})
      : analysed(b.build()),
        ooms(oomsOf(analysed, *analysed.devices[0])),
        verdict(verdictOf(analysed, *analysed.devices[0], ooms.back(),
                          verdictOptions(analysed, *analysed.devices[0], ooms, total_bytes))) {}

  std::vector<std::string> rows() const {
    std::vector<std::string> names;
    for (const VerdictRow& row : verdict.rows) {
      names.push_back(std::string(name(row.verdict)) + (row.certain ? "" : "?"));
    }
    return names;
  }
  uint64_t bytes(Verdict v) const { return verdict.find(v) ? verdict.find(v)->bytes : 0; }
};

using Names = std::vector<std::string>;

// `count` segments of 20 MiB with a live block of 8 MiB in each: 12 MiB free in each.
void freePieces(TraceBuilder& b, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t a = kA + i * 32 * kMiB;
    b.segmentAlloc(a, 20 * kMiB).alloc(a, 8 * kMiB);
  }
}

TEST(OomVerdict, TheDeviceBoundsWhatTheDriverHadLeft) {
  auto most = [](std::optional<uint64_t> total_bytes, uint64_t free_bytes) {
    TraceBuilder b;
    freePieces(b, 5);  // 100 reserved
    b.oom(free_bytes, 45 * kMiB);
    model::Trace trace = b.build();
    trace.devices[0].total_bytes = total_bytes.value_or(model::kUnknownBytes);
    AnalysedTrace analysed(std::move(trace));
    const DeviceAnalysis& device = *analysed.devices[0];
    std::vector<OomReport> ooms = oomsOf(analysed, device);
    return verdictOf(analysed, device, ooms.back(), verdictOptions(analysed, device, ooms))
        .most_driver_bytes;
  };
  EXPECT_EQ(most(120 * kMiB, model::kUnknownBytes), 20 * kMiB);
  EXPECT_EQ(most(100 * kMiB, model::kUnknownBytes), 0U);
  EXPECT_EQ(most(120 * kMiB, 5 * kMiB), std::nullopt);             // it is known
  EXPECT_EQ(most(99 * kMiB, model::kUnknownBytes), std::nullopt);  // the file errs
  EXPECT_EQ(most(std::nullopt, model::kUnknownBytes), std::nullopt);
}

TEST(OomVerdict, Fragmentation) {
  TraceBuilder b;
  freePieces(b, 5);
  b.oom(30 * kMiB, 45 * kMiB);  // 60 free inside, 30 at the driver, 46 wanted
  Judged judged(b);
  const OomVerdict& v = judged.verdict;
  EXPECT_EQ(judged.rows(), Names{"fragmentation"});
  EXPECT_EQ(judged.bytes(Verdict::kFragmentation), 60 * kMiB);
  EXPECT_EQ(v.wanted_bytes, 46 * kMiB);
  EXPECT_EQ(v.missingBytes(), 16 * kMiB);
  EXPECT_EQ(v.reserved_bytes, 100 * kMiB);
  EXPECT_EQ(v.live_bytes, 40 * kMiB);
  EXPECT_EQ(v.free_bytes, 60 * kMiB);
  EXPECT_EQ(v.ceilingBytes(), 130 * kMiB);
  EXPECT_EQ(v.differenceBytes(), 0);
  EXPECT_EQ(v.free.count, 5U);
  EXPECT_EQ(v.free.largest_bytes, 12 * kMiB);
  EXPECT_EQ(v.pinned.pinned_bytes, 60 * kMiB);
  EXPECT_FALSE(v.before_step.has_value());
  EXPECT_EQ(v.lackingBytes(), 0U);
}

TEST(OomVerdict, FragmentationOfTheDriversRestAlone) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 20 * kMiB);
  b.oom(12 * kMiB, 5 * kMiB);  // 5 MiB would fit; a segment of 20 MiB does not
  Judged judged(b);
  EXPECT_EQ(judged.rows(), Names{"fragmentation"});
  EXPECT_EQ(judged.bytes(Verdict::kFragmentation), 0U);
  EXPECT_EQ(judged.verdict.missingBytes(), 8 * kMiB);
}

TEST(OomVerdict, ABlockThatFitsButIsInAPrivatePool) {
  TraceBuilder b;
  b.segmentAlloc(kA, 100 * kMiB).alloc(kA, 2 * kMiB).oom(30 * kMiB, 40 * kMiB);
  b.pool(1, 0).finalSegment(kA, 100 * kMiB).block(2 * kMiB, BlockState::kActiveAllocated, 2 * kMiB);
  b.block(98 * kMiB, BlockState::kInactive);
  Judged judged(b);
  EXPECT_EQ(judged.rows(),
            Names{"held_in_pool?"});  // its segment stays: the block of 2 MiB pins it
  EXPECT_EQ(judged.bytes(Verdict::kHeldInPool), 98 * kMiB);
  EXPECT_EQ(judged.verdict.held_whole_bytes, 0U);
  ASSERT_EQ(judged.verdict.pools.size(), 1U);
  EXPECT_EQ(judged.verdict.pools[0].live_bytes, 2 * kMiB);
  EXPECT_EQ(judged.verdict.pools[0].live_blocks, 1U);
  EXPECT_EQ(judged.verdict.pools[0].segments, 1U);
}

// Whole free segments of a graph's pool: the flush does not return them while the graph exists. One
// byte of the driver decides whether they would have been enough.
TEST(OomVerdict, HeldInAPrivatePool) {
  for (uint64_t driver : {448 * kMiB, 360 * kMiB, 300 * kMiB}) {
    TraceBuilder b;
    b.segmentAlloc(kA, 900 * kMiB).alloc(kA, 900 * kMiB);
    b.segmentAlloc(kA + kGiB, 200 * kMiB);
    b.oom(driver, 560 * kMiB);
    b.finalSegment(kA, 900 * kMiB).block(900 * kMiB, BlockState::kActiveAllocated, 900 * kMiB);
    b.pool(3, 0).finalSegment(kA + kGiB, 200 * kMiB).block(200 * kMiB, BlockState::kInactive);
    Judged judged(b);
    bool enough = driver >= 360 * kMiB;
    EXPECT_EQ(judged.rows(), enough ? Names{"held_in_pool"} : Names{"capacity"});
    EXPECT_EQ(judged.verdict.held_bytes, 200 * kMiB);
    EXPECT_EQ(judged.verdict.held_whole_bytes, 200 * kMiB);
    EXPECT_EQ(judged.verdict.pieces.bytes, 0U);
    EXPECT_EQ(judged.verdict.pinned.releasable_bytes, 0U);
    EXPECT_EQ(judged.verdict.pinned.held_in_pools_bytes, 200 * kMiB);
  }
}

// The request's own pool is not another pool.
TEST(OomVerdict, FreeMemoryOfItsOwnPoolIsInPieces) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 8 * kMiB).oom(30 * kMiB, 40 * kMiB);
  b.pool(3, 0).finalSegment(kA, 20 * kMiB).block(8 * kMiB, BlockState::kActiveAllocated, 8 * kMiB);
  b.block(12 * kMiB, BlockState::kInactive);
  model::Trace trace = b.build();
  trace.events.pool.assign(trace.events.size(), model::PoolId(1));
  AnalysedTrace analysed(std::move(trace));
  OomVerdict v =
      verdictOf(analysed, *analysed.devices[0], oomsOf(analysed, *analysed.devices[0]).back());
  ASSERT_EQ(v.rows.size(), 1U);
  EXPECT_EQ(v.rows[0].verdict, Verdict::kFragmentation);
  EXPECT_EQ(v.held_bytes, 0U);
}

// The allocator returns whole free segments before a request fails, but not during a capture.
TEST(OomVerdict, NoFlushDuringACapture) {
  auto judge = [](bool flushed, uint64_t driver) {
    TraceBuilder b;
    b.segmentAlloc(kA, 100 * kMiB).alloc(kA, 100 * kMiB);
    b.segmentAlloc(kA + kGiB, 30 * kMiB);
    if (flushed) b.segmentAlloc(kA + 2 * kGiB, 2 * kMiB).segmentFree(kA + 2 * kGiB, 2 * kMiB);
    b.oom(driver, 50 * kMiB);
    b.finalSegment(kA, 100 * kMiB).block(100 * kMiB, BlockState::kActiveAllocated, 100 * kMiB);
    b.finalSegment(kA + kGiB, 30 * kMiB).block(30 * kMiB, BlockState::kInactive);
    return Judged(b);
  };
  Judged captured = judge(false, 20 * kMiB);
  EXPECT_EQ(captured.rows(), Names{"no_flush"});
  EXPECT_EQ(captured.verdict.unflushed_bytes, 30 * kMiB);
  EXPECT_EQ(captured.verdict.pieces.bytes, 0U);  // no byte in two rows
  EXPECT_EQ(judge(true, 20 * kMiB).rows(), Names{"fragmentation"});
  EXPECT_EQ(judge(false, 20 * kMiB - 1).rows(), Names{"capacity"});  // it would not have helped
}

// Half of the 2,048 MiB that the process and the driver had. The driver's memory beyond it does not
// count.
TEST(OomVerdict, AFractionOfTheSettingsLimitsWhatTheProcessCouldHave) {
  auto judge = [](uint64_t request) {
    TraceBuilder b;
    b.settings().present = true;
    b.settings().conf = "per_process_memory_fraction:0.5";
    b.segmentAlloc(kA, 900 * kMiB).alloc(kA, 900 * kMiB).oom(1148 * kMiB, request);
    b.finalSegment(kA, 900 * kMiB).block(900 * kMiB, BlockState::kActiveAllocated, 900 * kMiB);
    return Judged(b);
  };
  Judged too_large = judge(1200 * kMiB);
  EXPECT_EQ(too_large.rows(), Names{"never_fits"});
  EXPECT_EQ(too_large.bytes(Verdict::kNeverFits), 176 * kMiB);
  EXPECT_EQ(too_large.verdict.lackingBytes(), 1076 * kMiB);  // 124 MiB are left below the limit
  EXPECT_EQ(judge(200 * kMiB).rows(), Names{"cap"});         // the driver had that much
}

// A flush unmaps whole free pages of every stream.
TEST(OomVerdict, NoFlushOfExpandableSegmentsDuringACapture) {
  for (uint64_t live : {0, 1}) {
    TraceBuilder b;
    b.settings().present = true;
    b.settings().expandable_segments = true;
    b.map(kA, 100 * kMiB).alloc(kA, 100 * kMiB);
    b.stream(7).map(kA + kGiB, 40 * kMiB);
    if (live > 0) b.alloc(kA + kGiB + 10 * kMiB, 20 * kMiB);  // on both pages
    b.stream(0).oom(20 * kMiB, 60 * kMiB);
    b.finalSegment(kA, 100 * kMiB, model::SegmentKind::kExpandable)
        .block(100 * kMiB, BlockState::kActiveAllocated, 100 * kMiB);
    b.stream(7).finalSegment(kA + kGiB, 40 * kMiB, model::SegmentKind::kExpandable);
    if (live == 0) b.block(40 * kMiB, BlockState::kInactive);
    if (live > 0)
      b.block(10 * kMiB, BlockState::kInactive)
          .block(20 * kMiB, BlockState::kActiveAllocated, 20 * kMiB)
          .block(10 * kMiB, BlockState::kInactive);
    Judged judged(b);
    EXPECT_EQ(judged.verdict.unflushed_bytes, live == 0 ? 40 * kMiB : 0);
    EXPECT_EQ(judged.rows(), live == 0 ? Names{"no_flush"} : Names{"capacity"});
  }
}

// Even with nothing else held. One byte decides.
TEST(OomVerdict, ARequestThatCouldNeverFit) {
  for (uint64_t more : {0, 512}) {
    TraceBuilder b;
    freePieces(b, 5);  // 100 reserved
    b.oom(30 * kMiB, 130 * kMiB + more);
    Judged judged(b);
    EXPECT_EQ(judged.rows(), more == 0 ? Names{"capacity"} : Names{"never_fits"});
    EXPECT_EQ(judged.bytes(Verdict::kNeverFits), more);
    EXPECT_EQ(judged.verdict.neverFits(), more > 0);
  }
  for (uint64_t total : {200 * kMiB, 200 * kMiB - 512}) {  // the device decides, if it is known
    TraceBuilder b;
    freePieces(b, 5);
    b.oom(30 * kMiB, 200 * kMiB);
    EXPECT_EQ(Judged(b, total).verdict.neverFits(), total < 200 * kMiB);
  }
}

// Each request of 10.01 MiB takes a segment of 12 MiB for itself.
TEST(OomVerdict, TheRestsOfSegmentsAreSummedUp) {
  TraceBuilder b;
  uint64_t request = 10 * kMiB + 10'485;
  for (uint64_t i = 0; i < 6; ++i)
    b.segmentAlloc(kA + i * kGiB, 12 * kMiB).alloc(kA + i * kGiB, request);
  b.segmentAlloc(kA + 7 * kGiB, 20 * kMiB).alloc(kA + 7 * kGiB, 2 * kMiB);  // more would fit
  b.oom(4 * kMiB, 10 * kMiB + 10'752);
  const SegmentRests& rests = Judged(b).verdict.rests;
  EXPECT_EQ(rests.segments, 6U);
  EXPECT_EQ(rests.bytes, 6 * (2 * kMiB - 10'752));
  EXPECT_EQ(rests.request_bytes, request);
  EXPECT_EQ(rests.segment_bytes, 12 * kMiB);
}

// S + D can exceed the device if an allocator of a pool unmaps its memory.
TEST(OomVerdict, WhatIsReservedButNotOnTheDevice) {
  for (std::optional<uint64_t> total : {std::optional(80 * kMiB), std::optional<uint64_t>()}) {
    TraceBuilder b;
    b.segmentAlloc(kA, 60 * kMiB).alloc(kA, 60 * kMiB).oom(50 * kMiB, 70 * kMiB);
    b.pool(0, 1).finalSegment(kA, 60 * kMiB);
    b.block(60 * kMiB, BlockState::kActiveAllocated, 60 * kMiB);
    Judged judged(b, total);
    EXPECT_EQ(judged.verdict.not_on_device_bytes, total ? 30 * kMiB : 0);
    EXPECT_TRUE(mayHaveOwnAllocator(judged.analysed.trace, judged.verdict.pools.at(0).pool));
  }
}

TEST(OomVerdict, TheFractionOfTheSettingsBoundsTheLimit) {
  auto judge = [](std::optional<uint64_t> total) {
    TraceBuilder b;
    b.settings().present = true;
    b.settings().conf = "per_process_memory_fraction:0.5";
    b.segmentAlloc(kA, 100 * kMiB).alloc(kA, 100 * kMiB).oom(150 * kMiB, 40 * kMiB);
    return Judged(b, total).verdict.cap.value();
  };
  CapBounds cap = judge({});  // the device has at least 250 MiB
  EXPECT_EQ(cap.fraction, 0.5);
  EXPECT_EQ(cap.least_bytes, 125 * kMiB);
  EXPECT_EQ(cap.below_bytes, 140 * kMiB);
  EXPECT_EQ(judge(270 * kMiB).least_bytes, 135 * kMiB);
}

TEST(OomVerdict, CachedOnAnotherStream) {
  TraceBuilder b;
  b.stream(7).segmentAlloc(kA, 100 * kMiB).alloc(kA, 60 * kMiB);
  b.stream(0).oom(30 * kMiB, 40 * kMiB);
  EXPECT_EQ(Judged(b).rows(), Names{"other_pool"});
}

// Small and large requests never share blocks: that is no question of pools and streams.
TEST(OomVerdict, TheOtherSizeClassIsNotAnotherStream) {
  TraceBuilder b;
  b.segmentAlloc(kA, 200 * kMiB).alloc(kA, 90 * kMiB).oom(kMiB, 512 * 1024);
  Judged judged(b);
  EXPECT_EQ(judged.rows(), Names{"fragmentation"});
  EXPECT_EQ(judged.bytes(Verdict::kFragmentation), 110 * kMiB);
  EXPECT_EQ(judged.verdict.pieces.count, 1U);
}

// A block that the split limit forbids in its own pool is forbidden from another pool, too.
TEST(OomVerdict, AnotherPoolsBlocksMustBeAllowedToo) {
  for (uint64_t limit : {model::kUnknownBytes, 100 * kMiB}) {
    TraceBuilder b;
    b.settings().max_split_bytes = limit;
    b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 20 * kMiB);
    b.stream(7).segmentAlloc(kA + kGiB, 310 * kMiB).alloc(kA + kGiB, 10 * kMiB);
    b.stream(0).oom(10 * kMiB, 50 * kMiB);
    EXPECT_EQ(Judged(b).rows(), limit == 100 * kMiB ? Names{"fragmentation"} : Names{"other_pool"});
  }
}

TEST(OomVerdict, PiecesThatAreTooFewWithoutAnotherPoolAreNotAReason) {
  for (uint64_t driver : {38 * kMiB, 38 * kMiB - 512}) {  // 2 MiB are in a piece
    TraceBuilder b;
    b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 18 * kMiB);
    b.stream(7).segmentAlloc(kA + kGiB, 110 * kMiB).alloc(kA + kGiB, 10 * kMiB);
    b.stream(0).oom(driver, 40 * kMiB);
    Judged judged(b);
    EXPECT_EQ(judged.rows(),
              driver == 38 * kMiB ? (Names{"other_pool", "fragmentation"}) : Names{"other_pool"});
    EXPECT_EQ(judged.verdict.pieces.bytes, 2 * kMiB);
    EXPECT_EQ(judged.verdict.pieces.count, 1U);
    EXPECT_EQ(judged.verdict.pieces.largest_bytes, 2 * kMiB);
    EXPECT_EQ(judged.bytes(Verdict::kOtherPool), 100 * kMiB);
  }
}

TEST(OomVerdict, Capacity) {
  TraceBuilder b;
  freePieces(b, 5);
  b.oom(30 * kMiB, 120 * kMiB);
  Judged judged(b);
  EXPECT_EQ(judged.rows(), Names{"capacity"});
  EXPECT_EQ(judged.bytes(Verdict::kCapacity), 30 * kMiB);
  EXPECT_EQ(judged.verdict.missingBytes(), 90 * kMiB);
  EXPECT_EQ(judged.verdict.lackingBytes(), 30 * kMiB);
}

// One byte decides between freePieces and capacity.
TEST(OomVerdict, CapacityBeginsWhereAPerfectHeapIsFull) {
  for (uint64_t more : {0, 512}) {
    TraceBuilder b;
    freePieces(b, 5);
    b.oom(30 * kMiB, 90 * kMiB + more);
    EXPECT_EQ(Judged(b).rows(), more == 0 ? Names{"fragmentation"} : Names{"capacity"});
  }
}

TEST(OomVerdict, OthersHoldADeviceOfKnownSize) {
  TraceBuilder b;
  freePieces(b, 5);
  b.oom(30 * kMiB, 200 * kMiB);
  Judged judged(b, kGiB);
  EXPECT_EQ(judged.rows(), (Names{"others", "capacity"}));
  EXPECT_EQ(judged.bytes(Verdict::kOthers), kGiB - 130 * kMiB);
  EXPECT_EQ(judged.verdict.otherBytes(), kGiB - 130 * kMiB);
}

// A context and its libraries always take something.
TEST(OomVerdict, ALittleElsewhereIsNotAReason) {
  TraceBuilder b;
  b.segmentAlloc(kA, kGiB).alloc(kA, 900 * kMiB).alloc(kA + 900 * kMiB, 124 * kMiB);
  b.freeRequested(kA, 900 * kMiB).freeCompleted(kA, 900 * kMiB).alloc(kA + 10 * kMiB, 880 * kMiB);
  b.oom(30 * kMiB, 40 * kMiB);
  Judged judged(b, kGiB + 100 * kMiB);
  EXPECT_EQ(judged.rows(), Names{"fragmentation"});
  EXPECT_EQ(judged.verdict.otherBytes(), 70 * kMiB);
}

// Without the device's size, an earlier event shows what this process could have had.
TEST(OomVerdict, OthersTookWhatWasThereBefore) {
  TraceBuilder b;
  freePieces(b, 5);
  b.oom(400 * kMiB, 600 * kMiB).alloc(kA + 8 * kMiB, 2 * kMiB);
  b.oom(30 * kMiB, 200 * kMiB);
  Judged judged(b);
  EXPECT_EQ(judged.rows(), (Names{"others", "capacity"}));
  EXPECT_EQ(judged.bytes(Verdict::kOthers), 370 * kMiB);
  EXPECT_EQ(judged.verdict.least_total_bytes, 500 * kMiB);
  EXPECT_FALSE(judged.verdict.otherBytes().has_value());  // the device's size is not known
}

TEST(OomVerdict, ALimitOfTheProcess) {
  TraceBuilder b;
  freePieces(b, 5);
  b.segmentAlloc(kA + 5 * kGiB, 60 * kMiB).segmentFree(kA + 5 * kGiB, 60 * kMiB);
  b.oom(70 * kGiB, 80 * kMiB);
  Judged judged(b);
  EXPECT_EQ(judged.rows(), Names{"cap"});
  EXPECT_EQ(judged.bytes(Verdict::kCap), 70 * kGiB);
  ASSERT_TRUE(judged.verdict.cap.has_value());
  EXPECT_EQ(judged.verdict.cap->least_bytes, 160 * kMiB);
  EXPECT_EQ(judged.verdict.cap->below_bytes, 180 * kMiB);
  EXPECT_EQ(judged.verdict.cap->would_fit, true);  // 40 live + 80 ≤ 160
  EXPECT_FALSE(judged.verdict.missingBytes().has_value());
}

TEST(OomVerdict, UnderALimitItIsNotAlwaysKnown) {
  auto would_fit = [](uint64_t live, uint64_t request) {
    TraceBuilder b;
    b.segmentAlloc(kA, 100 * kMiB).alloc(kA, live).oom(70 * kGiB, request);
    return Judged(b).verdict.cap.value().would_fit;
  };
  EXPECT_EQ(would_fit(90 * kMiB, 12 * kMiB), std::nullopt);
  EXPECT_EQ(would_fit(100 * kMiB, 12 * kMiB), false);
  EXPECT_EQ(would_fit(60 * kMiB, 40 * kMiB + 512), std::nullopt);
}

TEST(OomVerdict, ALimitBelowWhatWasReservedBeforeIsNotFixed) {
  for (uint64_t before : {500 * kMiB, 600 * kMiB}) {
    TraceBuilder b;
    b.segmentAlloc(kA, before).segmentFree(kA, before);
    b.segmentAlloc(kA, 100 * kMiB).alloc(kA, 100 * kMiB).oom(2000 * kMiB, 500 * kMiB);
    CapBounds cap = Judged(b).verdict.cap.value();
    EXPECT_EQ(cap.below_bytes, 600 * kMiB);
    EXPECT_EQ(cap.isFixed(), before == 500 * kMiB);
    EXPECT_EQ(cap.would_fit, before == 500 * kMiB ? std::optional(false) : std::nullopt);
  }
}

TEST(OomVerdict, TheAllocatorDoesNotSearchAgain) {
  TraceBuilder b;
  b.stream(7).segmentAlloc(kA, 60 * kMiB).alloc(kA, 40 * kMiB).alloc(kA + 40 * kMiB, 20 * kMiB);
  b.freeRequested(kA, 40 * kMiB).alloc(0x1000, 512);
  b.freeCompleted(kA, 40 * kMiB).oom(10 * kMiB, 30 * kMiB);  // its own flush waited for the stream
  Judged judged(b);
  EXPECT_EQ(judged.rows(), Names{"flaw"});
  EXPECT_EQ(judged.bytes(Verdict::kFlaw), 40 * kMiB);
  EXPECT_EQ(judged.ooms[0].completed, 1U);
  EXPECT_EQ(judged.verdict.before_step, 4U);
}

TEST(OomVerdict, SeveralHoldTheLargestFirst) {
  TraceBuilder b;
  freePieces(b, 5);  // 60 MiB in freePieces
  b.stream(7).segmentAlloc(kA + kGiB, 100 * kMiB).alloc(kA + kGiB, 52 * kMiB).stream(0);
  b.oom(30 * kMiB, 40 * kMiB);
  Judged judged(b, kGiB);
  EXPECT_EQ(judged.rows(), (Names{"others", "fragmentation", "other_pool"}));
  EXPECT_EQ(judged.bytes(Verdict::kFragmentation), 60 * kMiB);  // no byte in two rows
  EXPECT_EQ(judged.bytes(Verdict::kOtherPool), 48 * kMiB);
}

TEST(OomVerdict, ALimitAndAFittingBlock) {
  TraceBuilder b;
  freePieces(b, 1);
  b.oom(70 * kGiB, 12 * kMiB);
  EXPECT_EQ(Judged(b).rows(), (Names{"cap", "flaw"}));
}

TEST(OomVerdict, ExpandableSegmentsWantPages) {
  TraceBuilder b;
  b.settings().expandable_segments = true;
  b.map(kA, 100 * kMiB).alloc(kA, 95 * kMiB);
  b.oom(10 * kMiB, 12 * kMiB);  // 5 free at the end + 10: there, but a page is 20
  Judged judged(b);
  EXPECT_EQ(judged.verdict.wanted_bytes, 20 * kMiB);
  EXPECT_EQ(judged.verdict.missingBytes(), 10 * kMiB);
  EXPECT_EQ(judged.rows(), Names{"fragmentation"});
}

TEST(OomVerdict, BeforeAndAfterTheFlush) {
  TraceBuilder b;
  freePieces(b, 2);
  b.segmentAlloc(kA + kGiB, 50 * kMiB);
  b.map(kA + 2 * kGiB, 20 * kMiB).unmap(kA + 2 * kGiB, 20 * kMiB);  // in vain
  b.segmentFree(kA + kGiB, 50 * kMiB).oom(60 * kMiB, 100 * kMiB);
  Judged judged(b);
  EXPECT_EQ(judged.verdict.before_step, 4U);
  EXPECT_EQ(judged.verdict.before.reserved_bytes, 90 * kMiB);
  EXPECT_EQ(judged.verdict.free_before_bytes, 74 * kMiB);
  EXPECT_EQ(judged.verdict.reserved_bytes, 40 * kMiB);
  EXPECT_EQ(judged.ooms[0].given_back_bytes, 70 * kMiB);
  EXPECT_EQ(judged.ooms[0].mapped_bytes, 20 * kMiB);
}

// Blocks that are larger than requested: another setting may help.
TEST(OomVerdict, WasteInsideBlocksIsNotCapacity) {
  for (uint64_t driver : {17 * kMiB, 5 * kMiB, 5 * kMiB - 512}) {
    TraceBuilder b;
    b.settings().roundup_power2_divisions.fill(2);
    b.segmentAlloc(kA, 96 * kMiB).alloc(kA, 70 * kMiB);  // becomes 96 MiB
    b.oom(driver, 48 * kMiB);                            // was 32 MiB + 1 B at least
    Judged judged(b);
    EXPECT_EQ(judged.verdict.rounding_bytes, 26 * kMiB);
    EXPECT_EQ(judged.verdict.least_request_bytes, 32 * kMiB + 512);
    bool waste = driver > 5 * kMiB;
    EXPECT_EQ(judged.rows(), waste ? Names{"internal_waste"} : Names{"capacity"});
    EXPECT_EQ(judged.bytes(Verdict::kWaste), waste ? 42 * kMiB - 512 : 0U);
    EXPECT_EQ(judged.verdict.lackingBytes(), 48 * kMiB - driver);
  }
}

TEST(OomVerdict, WhatTheFileDoesNotSayIsNotClaimed) {
  for (auto [driver, request, rows] : std::initializer_list<std::tuple<uint64_t, uint64_t, Names>>{
           {30 * kMiB, model::kUnknownBytes, {}},
           {model::kUnknownBytes, model::kUnknownBytes, {}},
           {model::kUnknownBytes, 100 * kMiB, {}},                   // capacity? unknown
           {model::kUnknownBytes, 40 * kMiB, {"fragmentation"}}}) {  // 60 were there anyway
    TraceBuilder b;
    freePieces(b, 5);
    b.oom(driver, request);
    Judged judged(b);
    EXPECT_EQ(judged.rows(), rows);
    EXPECT_FALSE(judged.verdict.missingBytes().has_value());
    EXPECT_EQ(judged.verdict.lackingBytes(), 0U);
  }
}

TEST(OomVerdict, BlocksOfUncertainSizeMakeItUncertain) {
  TraceBuilder b;
  b.oom(39 * kMiB + kMiB / 2, 50 * kMiB);                     // 11 MiB free, or only 10
  b.freeRequested(kA, 9 * kMiB).freeCompleted(kA, 9 * kMiB);  // older than the recording
  b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  Judged judged(b);
  EXPECT_EQ(judged.verdict.uncertain_bytes, kMiB);
  EXPECT_EQ(judged.rows(), Names{"fragmentation?"});
}

TEST(OomVerdict, NamesTheLastPhase) {
  TraceBuilder b;
  b.time(100).segmentAlloc(kA, 100 * kMiB).alloc(kA, 10 * kMiB);
  b.time(210).alloc(kA + 10 * kMiB, 30 * kMiB).alloc(kA + 40 * kMiB, 60 * kMiB);
  b.time(220).oom(0, 50 * kMiB);
  b.annotation("step", 90, 300, 0).annotation("backward", 200, 290, 1);
  Judged judged(b);
  ASSERT_TRUE(judged.verdict.last_phase.has_value());
  EXPECT_EQ(judged.verdict.last_phase->annotation, 1U);
  EXPECT_EQ(judged.verdict.last_phase->live_bytes, 90 * kMiB);
  EXPECT_EQ(judged.verdict.last_phase->blocks, 2U);
}

TEST(OomVerdict, PinnedHostMemoryHasOtherRules) {
  TraceBuilder b;
  b.device(-1).segmentAlloc(kA, 20 * kMiB).alloc(kA, kMiB).oom(10 * kMiB, 40 * kMiB);
  AnalysedTrace analysed(b.build());
  for (const auto& device : analysed.devices) {
    std::vector<OomReport> ooms = oomsOf(analysed, *device);
    for (const OomReport& oom : ooms) {
      EXPECT_TRUE(verdictOf(analysed, *device, oom).rows.empty());
    }
  }
}

TEST(OomVerdict, MessyTracesGetSomeVerdict) {
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    AnalysedTrace analysed(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0}));
    for (const auto& device : analysed.devices) {
      std::vector<OomReport> ooms = oomsOf(analysed, *device);
      for (const OomReport& oom : ooms) {
        OomVerdict verdict = verdictOf(analysed, *device, oom);
        EXPECT_LE(verdict.rows.size(), 9U);
        if (oom.known() && device->device.kind == model::DeviceKind::kGpu) {
          EXPECT_FALSE(verdict.rows.empty());
        }
      }
    }
  }
}

// `held` MiB allocated by the driver, then a refusal; of a device of 1,000 MiB if its size is
// known.
struct JudgedDriver {
  AnalysedTrace analysed;
  OomVerdict verdict;
  JudgedDriver(uint64_t held, uint64_t request, std::optional<uint64_t> free,
               std::optional<uint64_t> total = 1000)
      : analysed(made(held, request, free)),
        verdict(verdictOf(analysed, *analysed.devices[0],
                          oomsOf(analysed, *analysed.devices[0]).back(),
                          {.total_bytes = total ? std::optional(*total * kMiB) : std::nullopt})) {}
  static model::Trace made(uint64_t held, uint64_t request, std::optional<uint64_t> free) {
    TraceBuilder b;
    b.time(1'000'000).stack({"take@a.c:3"}).segmentAlloc(kA, held * kMiB).alloc(kA, held * kMiB);
    b.time(3'000'000).oom(model::kUnknownBytes, request * kMiB);
    model::Trace trace = b.build();
    trace.devices.at(0).has_allocator = false;
    auto work = std::make_shared<model::RecordedWork>();
    if (free) {
      work->answers = {.time_ns = {2'000'000'000},
                       .device = {0},
                       .free_bytes = {*free * kMiB},
                       .total_bytes = {1000 * kMiB}};
    }
    trace.work = work;
    return trace;
  }
  Names rows() const {
    Names names;
    for (const VerdictRow& row : verdict.rows)
      names.push_back(std::string(name(row.verdict)) + (row.certain ? "" : "?"));
    return names;
  }
  std::vector<Advice> advice() const { return adviceOn(analysed, *analysed.devices[0], verdict); }
};

TEST(OomVerdict, WithoutAnAllocatorTheDriversFigureIsTheMeasure) {
  JudgedDriver judged(448, 600, 552);
  const OomVerdict& v = judged.verdict;
  EXPECT_EQ(judged.rows(), Names{"capacity"}) << "no room for it beside what the process holds";
  EXPECT_EQ(v.rows[0].bytes, 48 * kMiB);
  EXPECT_EQ(v.wanted_bytes, 600 * kMiB) << "no segments, no rounding";
  EXPECT_EQ(v.driver_bytes, 552 * kMiB);
  EXPECT_EQ(v.otherBytes(), 0U);
  EXPECT_EQ(v.driver_free_before_us, 1'000'000);
  std::vector<Advice> advice = judged.advice();
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].kind, AdviceKind::kHoldLess);
  EXPECT_EQ(advice[0].allocator, AllocatorKind::kDriver);
  EXPECT_EQ(advice[0].value("lacking_bytes"), 48 * kMiB);
  EXPECT_EQ(advice[0].value("largest_holder_bytes"), 448 * kMiB);
}

TEST(OomVerdict, WithoutAnAllocatorOthersAreThoseBeyondThisProcess) {
  JudgedDriver judged(100, 600, 300);  // 600 elsewhere; others may have allocated or freed since
  EXPECT_EQ(judged.rows(), (Names{"others?", "capacity?"}));
  EXPECT_EQ(judged.verdict.find(Verdict::kOthers)->bytes, 600 * kMiB);
  EXPECT_EQ(judged.advice().at(1).value("other_bytes"), 600 * kMiB);
}

TEST(OomVerdict, WithoutAnAllocatorWhatNeverFitsIsAskedForInVain) {
  JudgedDriver judged(100, 2000, 300);
  EXPECT_EQ(judged.rows(), Names{"never_fits"});
  EXPECT_EQ(judged.verdict.rows[0].bytes, 1000 * kMiB);
  EXPECT_EQ(judged.advice().at(0).kind, AdviceKind::kCheckRequest);
}

TEST(OomVerdict, WithoutAnAllocatorTheDeviceAloneBoundsWhatWasLeft) {
  JudgedDriver judged(448, 600, std::nullopt);
  EXPECT_EQ(judged.rows(), Names{"capacity"});
  EXPECT_EQ(judged.verdict.rows[0].bytes, 48 * kMiB);
  EXPECT_EQ(judged.verdict.driver_bytes, std::nullopt);
  EXPECT_TRUE(JudgedDriver(448, 500, std::nullopt).rows().empty());
  EXPECT_TRUE(JudgedDriver(448, 600, std::nullopt, std::nullopt).rows().empty());
}

TEST(OomVerdict, WithoutAnAllocatorARefusalInSpiteOfEnoughHasNoReasonHere) {
  JudgedDriver judged(448, 500, 552);
  EXPECT_TRUE(judged.rows().empty()) << "no memory fraction, no segments";
  EXPECT_TRUE(judged.advice().empty());
}

}  // namespace
}  // namespace tidegauge::analysis
