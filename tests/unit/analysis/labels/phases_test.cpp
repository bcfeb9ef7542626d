#include "analysis/labels/phases.h"

#include <gtest/gtest.h>

#include "analysis/trace/analysed_trace.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;

TraceBuilder& eventsAt(TraceBuilder& b, const std::vector<int64_t>& times) {
  for (int64_t time : times) b.time(time).alloc(kA, 512);
  return b;
}
using Range = std::pair<Step, Step>;
Range rangeOf(const Phase& phase) { return {phase.begin_step, phase.end_step}; }

TEST(TimeAxis, FindsStepsByTime) {
  TraceBuilder b;
  model::Trace trace = eventsAt(b, {10, 20, 20, 30}).build();
  TimeAxis axis(trace, trace.devices[0]);
  EXPECT_EQ(axis.firstUs(), 10);
  EXPECT_EQ(axis.lastUs(), 30);
  EXPECT_EQ(axis.stepAtOrAfter(20), 1U);
  EXPECT_EQ(axis.stepAfter(20), 3U);
  EXPECT_EQ(axis.stepAfter(9), 0U);
  EXPECT_EQ(axis.stepAtOrAfter(31), 4U);
  EXPECT_EQ(axis.timeOf(99), 30);
}

TEST(TimeAxis, NeverGoesBackwards) {
  TraceBuilder b;
  model::Trace trace = eventsAt(b, {model::kNoTime, 20, 15, model::kNoTime, 30}).build();
  TimeAxis axis(trace, trace.devices[0]);
  std::vector<int64_t> times;
  for (Step step = 0; step < 5; ++step) times.push_back(axis.timeOf(step));
  EXPECT_EQ(times, (std::vector<int64_t>{20, 20, 20, 20, 30}));
}

TEST(TimeAxis, MayBeAbsent) {
  TraceBuilder b;
  b.alloc(kA, 512).annotation("forward", 0, 100);
  model::Trace trace = b.build();
  TimeAxis axis(trace, trace.devices[0]);
  EXPECT_FALSE(axis.present());
  EXPECT_EQ(axis.timeOf(0), model::kNoTime);
  EXPECT_TRUE(phasesOf(trace, axis).empty());
}

TEST(Phases, NestOuterFirst) {
  TraceBuilder b;
  eventsAt(b, {10, 20, 30, 40, 50});
  b.annotation("inner", 20, 30, 1).annotation("outer", 20, 30, 0).annotation("step", 5, 45, 0);
  model::Trace trace = b.build();
  std::vector<Phase> phases = phasesOf(trace, TimeAxis(trace, trace.devices[0]));
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_EQ(rangeOf(phases[0]), (Range{0, 4}));
  EXPECT_EQ(rangeOf(phases[1]), (Range{1, 3}));
  EXPECT_EQ(trace.strings.text(trace.annotations.name[phases[1].annotation]), "outer");
  EXPECT_EQ(phasesAt(phases, 2), (std::vector<uint32_t>{2, 1, 0}));
  EXPECT_EQ(phasesAt(phases, 3), (std::vector<uint32_t>{2}));
  EXPECT_TRUE(phasesAt(phases, 4).empty());
}

TEST(Phases, MissingEndsReachToTheEdges) {
  TraceBuilder b;
  eventsAt(b, {10, 20, 30});
  b.annotation("no end", 20, model::kNoTime).annotation("no start", model::kNoTime, 20);
  model::Trace trace = b.build();
  std::vector<Phase> phases = phasesOf(trace, TimeAxis(trace, trace.devices[0]));
  EXPECT_EQ(rangeOf(phases[0]), (Range{0, 2}));
  EXPECT_EQ(rangeOf(phases[1]), (Range{1, 3}));
}

TEST(Phases, HoldNoStepWhenNothingHappenedOrTheEndPrecedesTheStart) {
  TraceBuilder b;
  eventsAt(b, {10, 20, 30});
  b.annotation("between", 21, 29).annotation("backwards", 25, 5).annotation("after", 31, 40);
  model::Trace trace = b.build();
  for (const Phase& phase : phasesOf(trace, TimeAxis(trace, trace.devices[0]))) {
    EXPECT_EQ(phase.begin_step, phase.end_step);
  }
}

}  // namespace
}  // namespace tidegauge::analysis
