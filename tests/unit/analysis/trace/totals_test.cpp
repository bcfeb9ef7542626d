#include "analysis/trace/totals.h"

#include <gtest/gtest.h>

#include "analysis/trace/analysed_trace.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using model::BlockState;
using model::SegmentKind;
using testing::TraceBuilder;

constexpr uint64_t kB = kA + 0x10000;

TraceBuilder& whole(TraceBuilder& b) {
  return b.finalSegment(kA, 2 * kMiB, SegmentKind::kSmall).block(2 * kMiB, BlockState::kInactive);
}

TEST(Totals, FourSizesWithFourEnds) {
  TraceBuilder b;
  b.segmentAlloc(kA, 2 * kMiB).alloc(kA, 700).freeRequested(kA, 700).freeCompleted(kA, 700);
  b.segmentFree(kA, 2 * kMiB);
  AnalysedTrace analysed(b.build());
  const TotalsIndex& totals = analysed.devices[0]->totals;
  EXPECT_EQ(totals.initial(), (Totals{}));
  EXPECT_EQ(totals.at(0), (Totals{0, 0, 0, 2 * kMiB}));
  EXPECT_EQ(totals.at(1), (Totals{700, 1024, 1024, 2 * kMiB}));
  EXPECT_EQ(totals.at(2), (Totals{700, 1024, 0, 2 * kMiB}));  // not allocated, still active
  EXPECT_EQ(totals.at(3), (Totals{0, 0, 0, 2 * kMiB}));
  EXPECT_EQ(totals.at(4), (Totals{}));
  EXPECT_EQ(totals.at(99), totals.last());
  EXPECT_EQ(totals.peakActive().bytes, 1024U);
  EXPECT_EQ(totals.peakActive().step, 1U);
  EXPECT_EQ(totals.peakReserved().step, 0U);
}

TEST(Totals, OlderMemoryExistsBeforeTheFirstEvent) {
  TraceBuilder b;
  b.free(kA, 700);
  AnalysedTrace analysed(whole(b).build());
  const TotalsIndex& totals = analysed.devices[0]->totals;
  EXPECT_EQ(totals.initial(), (Totals{700, 1024, 1024, 2 * kMiB}));
  EXPECT_EQ(totals.at(0), (Totals{700, 1024, 0, 2 * kMiB}));
}

TEST(Totals, ALostLifeIsNotThereBeforeTheOneThatItFollows) {
  TraceBuilder b;  // the alloc between the two frees was not recorded
  b.freeCompleted(kA, 700).freeCompleted(kA, 300);
  AnalysedTrace analysed(whole(b).build());
  const TotalsIndex& totals = analysed.devices[0]->totals;
  EXPECT_EQ(totals.initial(), (Totals{700, 1024, 1024, 2 * kMiB}));
  EXPECT_EQ(totals.at(0), (Totals{300, 512, 512, 2 * kMiB}));
  EXPECT_EQ(totals.at(1), (Totals{0, 0, 0, 2 * kMiB}));
  EXPECT_EQ(totals.peakActive().bytes, 1024U);
  EXPECT_TRUE(totals.peakActive().at_start);
}

TEST(Totals, ThePeakCanBeAtTheStart) {
  TraceBuilder b;
  b.freeCompleted(kA, 700).alloc(kA, 512).segmentFree(kA + 8 * kMiB, 4 * kMiB);
  AnalysedTrace analysed(whole(b).build());
  const TotalsIndex& totals = analysed.devices[0]->totals;
  Peak active = totals.peakActive();
  EXPECT_EQ(active.bytes, totals.initial().active_bytes);
  EXPECT_EQ(active.bytes, 1024U);
  EXPECT_EQ(active.place(), -1);
  EXPECT_EQ(totals.at(active), totals.initial());
  EXPECT_EQ(totals.peakReserved().bytes, 6 * kMiB);
  EXPECT_FALSE(totals.peakReserved().at_start) << "step 0 has as much";
  EXPECT_EQ(totals.peakReserved().place(), 0);
}

TEST(Totals, ALostSegmentIsNotThereBeforeTheOneThatItFollows) {
  TraceBuilder b;
  b.segmentFree(kA, 2 * kMiB).alloc(0, 1).segmentFree(kA, 2 * kMiB);
  AnalysedTrace analysed(b.build());
  const TotalsIndex& totals = analysed.devices[0]->totals;
  EXPECT_EQ(totals.initial().reserved_bytes, 2 * kMiB);
  EXPECT_EQ(totals.at(0).reserved_bytes, 0U);
  EXPECT_EQ(totals.at(1).reserved_bytes, 2 * kMiB);
  EXPECT_EQ(totals.at(2).reserved_bytes, 0U);
}

TEST(Totals, ASegmentGivenByTheFirstEventWasNotThereBefore) {
  TraceBuilder b;
  b.segmentAlloc(kA, 2 * kMiB);
  AnalysedTrace analysed(whole(b).build());
  EXPECT_EQ(analysed.devices[0]->totals.initial().reserved_bytes, 0U);
  EXPECT_EQ(analysed.devices[0]->totals.at(0).reserved_bytes, 2 * kMiB);
}

TEST(Totals, APendingBlockOfTheFinalStateIsActiveButNotAllocated) {
  for (bool with_events : {false, true}) {
    TraceBuilder b;
    if (with_events) b.alloc(kB, 1).free(kB, 1);
    b.finalSegment(kA, 2 * kMiB, SegmentKind::kSmall);
    b.block(1024, BlockState::kActivePendingFree, 700);
    b.block(512, BlockState::kActiveAllocated, 100);
    b.block(2 * kMiB - 1536, BlockState::kInactive);
    AnalysedTrace analysed(b.build());
    EXPECT_EQ(analysed.devices[0]->totals.last(), (Totals{800, 1536, 512, 2 * kMiB}));
  }
}

TEST(Totals, WithoutEventsTheFinalStateIsAll) {
  TraceBuilder b;
  b.finalSegment(kA, 2 * kMiB, SegmentKind::kSmall);
  b.block(1024, BlockState::kActiveAllocated, 700);
  b.block(2 * kMiB - 1024, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  const TotalsIndex& totals = analysed.devices[0]->totals;
  EXPECT_EQ(totals.steps(), 0U);
  EXPECT_EQ(totals.last(), (Totals{700, 1024, 1024, 2 * kMiB}));
  EXPECT_EQ(totals.peakActive().bytes, 1024U);
  EXPECT_EQ(totals.span(0, 0).active_max, 0U);
}

TEST(Totals, PeaksNameTheFirstSuchStepAcrossBlocksOfTheIndex) {
  TraceBuilder b;
  for (int i = 0; i < 700; ++i) b.alloc(kA, 512).freeCompleted(kA, 512);
  b.alloc(kA, 1024).freeCompleted(kA, 1024).alloc(kA, 1024).freeCompleted(kA, 1024);
  AnalysedTrace analysed(whole(b).build());
  const TotalsIndex& totals = analysed.devices[0]->totals;
  EXPECT_EQ(totals.peakActive().step, 1400U);
  Span all = totals.span(0, totals.steps());
  EXPECT_EQ(all.active_max_step, 1400U);
  EXPECT_EQ(all.active_min, 0U);
  EXPECT_EQ(totals.span(255, 257).active_max_step, 256U);
  EXPECT_EQ(totals.span(100, 9999).active_max_step, 1400U);  // the end is bounded
  Step walked = 300;
  totals.forEach(300, 600, [&](Step step, const Totals& at) {
    EXPECT_EQ(step, walked++);
    EXPECT_EQ(at.active_bytes, step % 2 == 0 ? 512U : 0U);
  });
  EXPECT_EQ(walked, 600U);
}

}  // namespace
}  // namespace tidegauge::analysis
