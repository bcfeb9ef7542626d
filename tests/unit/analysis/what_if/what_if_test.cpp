// The results of a what-if for small programs with known answers.
#include "analysis/what_if/what_if.h"

#include <gtest/gtest.h>

#include "analysis/what_if/program_edit.h"
#include "analysis/what_if/what_if_runs.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

constexpr uint64_t kBase = uint64_t{1} << 40;

WhatIf ask(testing::TraceBuilder& builder, const WhatIfWish& wish) {
  AnalysedTrace analysed(builder.build());
  auto report = whatIf(analysed, *analysed.devices.front(), wish);
  EXPECT_TRUE(report.ok());
  return std::move(report.value());
}

WhatIfWish of(std::optional<uint64_t> capacity_bytes) {
  WhatIfWish wish;
  wish.capacity_bytes = capacity_bytes;
  return wish;
}

// One that holds implies nothing about the next: 40 to 44 hold, 45 to 59 do not.
TEST(LeastFrom, AGapIsPassed) {
  auto holds = [](uint64_t it) { return (it >= 40 && it < 45) || it >= 60; };
  EXPECT_EQ(leastFrom(1, 100, holds), 60U);
  EXPECT_EQ(leastFrom(1, 42, holds), 40U);
  EXPECT_EQ(leastFrom(100, 100, holds), 100U);
}

TEST(LeastFrom, OfTooManyGapsTheTopIsLeft) {
  EXPECT_EQ(leastFrom(0, 1001, [](uint64_t it) { return it % 2 == 1; }), 1001U);
}

TEST(WhatIf, ARequestThatFitsNowIsInABlockWhileItIs) {
  testing::TraceBuilder b;
  b.segmentAlloc(kBase, 40 * kMiB).alloc(kBase, 40 * kMiB).oom(0, 60 * kMiB);
  WhatIf report = ask(b, of(1024 * kMiB));
  EXPECT_EQ(report.own.peakReservedBytes(), 100 * kMiB);
  EXPECT_EQ(report.own.peakActiveBytes(), 100 * kMiB);
  EXPECT_EQ(report.own.unused_at_peak_bytes, 0U);
  EXPECT_EQ(report.own.rescued, 1U);
}

TEST(WhatIf, UnusedIsTheLeastWhileReservedIsAtItsPeak) {
  testing::TraceBuilder b;
  b.alloc(kBase, 30 * kMiB).free(kBase, 30 * kMiB);
  b.alloc(kBase, 38 * kMiB).free(kBase, 38 * kMiB);
  b.finalSegment(kBase, 40 * kMiB).block(40 * kMiB, model::BlockState::kInactive);
  EXPECT_EQ(ask(b, {}).own.unused_at_peak_bytes, 2 * kMiB);
}

// Others hold 800 MiB of 2,000; the process may have half of the device, and the driver still has
// 200.
TEST(WhatIf, AFractionIsOfTheDeviceAndNotOfWhatThisProcessCouldHave) {
  testing::TraceBuilder b;
  b.settings().conf = "per_process_memory_fraction:0.5";
  for (uint64_t i = 0; i < 10; ++i)
    b.segmentAlloc(kBase + i * 100 * kMiB, 100 * kMiB).alloc(kBase + i * 100 * kMiB, 100 * kMiB);
  b.oom(200 * kMiB, 100 * kMiB);
  WhatIfWish wish;
  wish.confs = {"per_process_memory_fraction:1.0",
                ""};  // the second sets nothing, so no fraction either
  WhatIf report = ask(b, wish);
  EXPECT_EQ(report.capacity_bytes, 1200 * kMiB);
  ASSERT_TRUE(report.device_bytes.has_value());
  EXPECT_GE(*report.device_bytes, 2000 * kMiB);
  EXPECT_LT(*report.device_bytes, 2001 * kMiB);
  EXPECT_EQ(report.own.peakReservedBytes(), 1000 * kMiB);
  EXPECT_EQ(report.own.stats.ooms, 1);
  // Without it the driver has enough.
  for (const Replayed& it : report.candidates) {
    EXPECT_EQ(it.stats.ooms, 0U) << it.conf;
    EXPECT_EQ(it.peakReservedBytes(), 1100 * kMiB) << it.conf;
  }
}

TEST(WhatIf, WhatWasReservedBeforeIsAPeakToo) {
  testing::TraceBuilder b;
  b.alloc(kBase, 2 * kMiB).free(kBase, 2 * kMiB);
  b.finalSegment(kBase, 40 * kMiB).block(40 * kMiB, model::BlockState::kInactive);
  WhatIf report = ask(b, {});
  EXPECT_EQ(report.own.reserved_at_start_bytes, 40 * kMiB);
  EXPECT_EQ(report.own.peakReservedBytes(), 40 * kMiB);
  EXPECT_EQ(report.own.unused_at_peak_bytes, 38 * kMiB);
}

TEST(WhatIf, TheSmallestCardIsOneThatDoes) {
  testing::TraceBuilder b;
  for (uint64_t i = 0; i < 10; ++i)
    b.segmentAlloc(kBase + i * 100 * kMiB, 100 * kMiB).alloc(kBase + i * 100 * kMiB, 100 * kMiB);
  model::Trace trace = b.build();
  AnalysedTrace analysed(std::move(trace));
  for (std::optional<double> fraction : {std::optional<double>(), std::optional<double>(0.5)}) {
    WhatIfWish wish = of(4096 * kMiB);
    wish.fraction = fraction;
    wish.min_capacity = true;
    auto told = whatIf(analysed, *analysed.devices.front(), wish);
    ASSERT_TRUE(told.ok());
    uint64_t least_bytes = told.value().own.min_capacity_bytes.value();
    EXPECT_EQ(least_bytes, (fraction ? 2000 : 1000) * kMiB);
    for (uint64_t less : {uint64_t{0}, 2 * kMiB}) {
      WhatIfWish again = of(least_bytes - less);
      again.fraction = fraction;
      auto on_it = whatIf(analysed, *analysed.devices.front(), again);
      EXPECT_EQ(on_it.value().own.stats.ooms > 0, less > 0);
    }
  }
}

TEST(WhatIf, TheSmallestCardHoldsOlderMemory) {
  testing::TraceBuilder b;
  b.alloc(kBase, 2 * kMiB).free(kBase, 2 * kMiB);
  b.finalSegment(kBase, 40 * kMiB).block(40 * kMiB, model::BlockState::kInactive);
  WhatIfWish wish;
  wish.min_capacity = true;
  wish.confs = {"expandable_segments:True"};
  WhatIf report = ask(b, wish);
  EXPECT_EQ(report.own.min_capacity_bytes, 40 * kMiB);
  EXPECT_EQ(report.candidates.front().min_capacity_bytes, 40 * kMiB);  // it was requested
}

// It had 120 MiB, and 100 more than the 40 that it held were refused, although the driver had 3
// GiB.
TEST(WhatIf, ALimitLiesBetweenWhatItHadAndWhatItWasRefused) {
  testing::TraceBuilder b;
  b.segmentAlloc(kBase, 120 * kMiB).alloc(kBase, 120 * kMiB).free(kBase, 120 * kMiB);
  b.segmentFree(kBase, 120 * kMiB);
  b.segmentAlloc(kBase, 40 * kMiB).alloc(kBase, 10 * kMiB);
  b.alloc(kBase + 10 * kMiB, 30 * kMiB);
  b.free(kBase, 10 * kMiB);
  b.oom(3072 * kMiB, 100 * kMiB);
  WhatIf report = ask(b, {});
  EXPECT_EQ(report.limit_bytes, 120 * kMiB);
  EXPECT_EQ(report.limit_most_bytes, 140 * kMiB - 1);
  EXPECT_EQ(report.availableBytes(), 120 * kMiB);
}

TEST(WhatIf, WhatWasNotLookedAtIsNotProven) {
  WhatIf report;
  report.verified.events_checked = report.verified.events_exact = 25'000;
  EXPECT_TRUE(report.isProven());
  report.verified.unchecked = 2'000;
  EXPECT_TRUE(report.isProven());
  report.verified.unchecked = 200'000;
  EXPECT_FALSE(report.isProven());
}

// A tenth of a device of unknown size: its effects show it.
TEST(WhatIf, AFractionOfAnUnknownDeviceIsFoundOut) {
  testing::TraceBuilder b;
  b.settings().conf = "per_process_memory_fraction:0.1";
  b.segmentAlloc(kBase, 200 * kMiB).alloc(kBase, 200 * kMiB).oom(3072 * kMiB, 300 * kMiB);
  WhatIf report = ask(b, {});
  EXPECT_EQ(report.own.stats.ooms, 1U);
  EXPECT_TRUE(report.ownIsAsRecorded());
  EXPECT_FALSE(report.limit_bytes);  // known, for a device of at least that size
  ASSERT_TRUE(report.device_bytes);
  EXPECT_GE(*report.device_bytes, 3272 * kMiB);
}

// Half of a device of that size would have been enough, so something else refused.
TEST(WhatIf, AFractionThatWouldHaveAllowedItIsNotWhatRefused) {
  testing::TraceBuilder b;
  b.settings().conf = "per_process_memory_fraction:0.5";
  b.segmentAlloc(kBase, 200 * kMiB).alloc(kBase, 200 * kMiB).oom(3072 * kMiB, 300 * kMiB);
  WhatIf report = ask(b, {});
  EXPECT_EQ(report.own.stats.ooms, 1U);
  EXPECT_EQ(report.limit_bytes, 200 * kMiB);
}

// Another card than the recorded one is a question, whatever the fraction.
TEST(WhatIf, AFractionThatTheRecordingRulesOutIsAnotherCard) {
  testing::TraceBuilder b;
  b.segmentAlloc(kBase, 40 * kMiB).alloc(kBase, 40 * kMiB).oom(0, 60 * kMiB);
  WhatIfWish alone = of(512 * kMiB), half = of(1024 * kMiB);
  half.fraction = 0.5;
  WhatIf one = ask(b, alone);
  testing::TraceBuilder c;
  c.segmentAlloc(kBase, 40 * kMiB).alloc(kBase, 40 * kMiB).oom(0, 60 * kMiB);
  WhatIf other = ask(c, half);
  EXPECT_EQ(one.own.rescued, 1U);
  EXPECT_EQ(other.own.rescued, 1U);
  EXPECT_EQ(one.own.peakReservedBytes(), other.own.peakReservedBytes());
  EXPECT_EQ(one.own.driverCalls(), other.own.driverCalls());
  EXPECT_EQ(other.availableBytes(), 512 * kMiB);
}

TEST(WhatIf, OlderMemoryIsThereHoweverSmallTheCard) {
  testing::TraceBuilder b;
  uint64_t far = kBase + 40 * 1024 * kMiB;
  b.settings().present = true;
  b.settings().expandable_segments = true;
  b.settings().conf = "expandable_segments:True";
  b.alloc(kBase, 20 * kMiB);
  b.finalSegment(kBase, 20 * kMiB, model::SegmentKind::kExpandable);
  b.block(20 * kMiB, model::BlockState::kActiveAllocated, 20 * kMiB);
  b.finalSegment(far, 5120 * kMiB, model::SegmentKind::kExpandable);
  b.block(5120 * kMiB, model::BlockState::kActiveAllocated, 5120 * kMiB);
  WhatIf report = ask(b, of(1024 * kMiB));
  EXPECT_EQ(report.own.reserved_at_start_bytes, 5140 * kMiB);
  EXPECT_GE(report.own.peakActiveBytes(), 5120 * kMiB);
}

TEST(WhatIf, AllRequestsCountWhereTheComparisonGaveUp) {
  testing::TraceBuilder b;  // in no segment: each differs
  constexpr uint64_t kBlocks = 120'000;
  for (uint64_t i = 0; i < kBlocks; ++i) b.alloc(kBase + i * 512, 512);
  WhatIf report = ask(b, {});
  EXPECT_LT(report.verified.checked_until, kBlocks);
  EXPECT_EQ(report.own.peakActiveBytes(), kBlocks * 512);
}

// Each of 4,500 segments is searched in 5,000 gaps that are too small: it ends, and reports where.
TEST(WhatIf, ADeviceOfManyGapsIsNotSearchedWithoutEnd) {
  testing::TraceBuilder b;
  constexpr uint64_t kFirst = 10'000, kThen = 4'500, kLess = 12 * kMiB, kMore = 14 * kMiB;
  for (uint64_t i = 0; i < kFirst; ++i)
    b.segmentAlloc(kBase + i * kLess, kLess).alloc(kBase + i * kLess, kLess);
  for (uint64_t i = 0; i < kFirst; i += 2) b.free(kBase + i * kLess, kLess);
  for (uint64_t i = 0; i < kFirst; i += 2) b.segmentFree(kBase + i * kLess, kLess);
  uint64_t base = kBase + kFirst * kLess;
  for (uint64_t i = 0; i < kThen; ++i)
    b.segmentAlloc(base + i * kMore, kMore).alloc(base + i * kMore, kMore);
  WhatIf report = ask(b, {});
  EXPECT_EQ(report.verified.settings.tie, replay::TieBreak::kAddress);
  EXPECT_EQ(report.verified.events_exact, report.verified.events_checked);
  EXPECT_TRUE(report.own.stopped_at.has_value());
  EXPECT_FALSE(report.best_helps);
}

TEST(WhatIf, AMapThatIsTheFirstEventIsNotOlder) {
  testing::TraceBuilder b;
  b.settings().present = true;
  b.settings().expandable_segments = true;
  b.settings().conf = "expandable_segments:True";
  b.map(kBase + 20 * kMiB, 20 * kMiB).alloc(kBase + 20 * kMiB, 20 * kMiB);
  b.finalSegment(kBase, 40 * kMiB, model::SegmentKind::kExpandable);
  b.block(20 * kMiB, model::BlockState::kActiveAllocated, 20 * kMiB);
  b.block(20 * kMiB, model::BlockState::kActiveAllocated, 20 * kMiB);
  WhatIf report = ask(b, {});
  EXPECT_EQ(report.verified.events_exact, 2U);
  EXPECT_EQ(report.own.reserved_at_start_bytes, 20 * kMiB);
}

// Other streams still have it when the recording begins: it is freed when they are through, and not
// earlier.
TEST(WhatIf, WhatWaitsFromTheStartCannotBeFreedEarlier) {
  testing::TraceBuilder b;
  b.stack({"f@x.py:1"}).freeCompleted(kBase, 40 * kMiB);
  b.alloc(kBase, 40 * kMiB);
  b.finalSegment(kBase, 40 * kMiB).block(40 * kMiB, model::BlockState::kActiveAllocated, 40 * kMiB);
  AnalysedTrace analysed(b.build());
  WhatIfWish wish;
  wish.edits.push_back({ProgramEdit::What::kFreeAt, "x.py", "1"});
  EXPECT_FALSE(whatIf(analysed, *analysed.devices.front(), wish).ok());  // nothing lives there
}

TEST(WhatIf, AnEmptyTextNamesNothing) {
  testing::TraceBuilder b;
  b.stack({"f@x.py:1"}).segmentAlloc(kBase, 40 * kMiB).alloc(kBase, 40 * kMiB);
  AnalysedTrace analysed(b.build());
  using What = ProgramEdit::What;
  for (const ProgramEdit& edit :
       {ProgramEdit{What::kDrop, "", ""}, ProgramEdit{What::kHalve, "", ""},
        ProgramEdit{What::kEmptyCache, "", ""}, ProgramEdit{What::kFreeAt, "", "1"},
        ProgramEdit{What::kFreeAt, "x.py", ""}}) {
    WhatIfWish wish;
    wish.edits.push_back(edit);
    EXPECT_FALSE(whatIf(analysed, *analysed.devices.front(), wish).ok()) << words(edit);
  }
}

}  // namespace
}  // namespace tidegauge::analysis
