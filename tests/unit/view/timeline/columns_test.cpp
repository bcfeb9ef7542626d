#include "view/timeline/columns.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/trace_builder.h"

namespace tidegauge::view {
namespace {

using analysis::AnalysedTrace;

// Steps 0…5: active 512, 1536, 1024, 1024 (a segment), 3072, 0 … with times 100, 200, 200, 300,
// 900, 1000 µs.
AnalysedTrace sixSteps() {
  testing::TraceBuilder b;
  b.time(100).alloc(0x1000, 512);
  b.time(200).alloc(0x2000, 1024);
  b.time(200).event(model::Action::kFree, 0x1000, 512);
  b.time(300).segmentAlloc(0x100000, 2 << 20);
  b.time(900).alloc(0x3000, 2048);
  b.time(1000).event(model::Action::kFree, 0x3000, 2048);
  return AnalysedTrace(b.build());
}

std::vector<Step> samplesIn(const AnalysedTrace& trace, const XRange& range) {
  std::vector<Step> samples;
  for (const ColumnState& c : columnStates(*trace.devices[0], range)) samples.push_back(c.sample);
  std::vector<Step> of_peaks;
  for (const ColumnPeak& c : columnPeaks(*trace.devices[0], range)) of_peaks.push_back(c.sample);
  EXPECT_EQ(of_peaks, samples);
  return samples;
}

TEST(Columns, ShowTheHighestStateThatBeginsInThem) {
  AnalysedTrace trace = sixSteps();
  EXPECT_EQ(samplesIn(trace, {Axis::kStep, 0, 6, 3}), (std::vector<Step>{1, 2, 4}));
  EXPECT_EQ(samplesIn(trace, {Axis::kStep, 0, 6, 1}), (std::vector<Step>{4}));
}

TEST(Columns, HoldTheStateBeforeWhenNothingBegins) {
  AnalysedTrace trace = sixSteps();
  EXPECT_EQ(samplesIn(trace, {Axis::kStep, 1, 3, 4}), (std::vector<Step>{1, 1, 2, 2}));
  EXPECT_EQ(samplesIn(trace, {Axis::kStep, 4.25, 4.75, 2}), (std::vector<Step>{4, 4}));
}

TEST(Columns, ShowNothingOutsideTheRecording) {
  AnalysedTrace trace = sixSteps();
  EXPECT_EQ(samplesIn(trace, {Axis::kStep, -2, 8, 5}),
            (std::vector<Step>{kNoStep, 1, 2, 4, kNoStep}));
  EXPECT_EQ(samplesIn(trace, {Axis::kTime, 0, 100, 1}), (std::vector<Step>{kNoStep}));
  EXPECT_EQ(samplesIn(trace, {Axis::kTime, 1001, 2000, 1}), (std::vector<Step>{kNoStep}));
}

TEST(Columns, FollowTheClockOnTheTimeAxis) {
  AnalysedTrace trace = sixSteps();
  // [100,200) [200,300) … [1000,1100): the two events at 200 µs share a column.
  EXPECT_EQ(samplesIn(trace, {Axis::kTime, 100, 1100, 10}),
            (std::vector<Step>{0, 1, 3, 3, 3, 3, 3, 3, 4, 5}));
}

TEST(Columns, CarryTheExtremes) {
  AnalysedTrace trace = sixSteps();
  std::vector<ColumnState> columns =
      columnStates(*trace.devices[0], {.axis = Axis::kStep, .x0 = 0, .x1 = 6, .columns = 2});
  EXPECT_EQ(columns[0].span.active_min, 512u);
  EXPECT_EQ(columns[0].span.active_max, 1536u);
  EXPECT_EQ(columns[1].span.active_min, 1024u);
  EXPECT_EQ(columns[1].span.active_max, 3072u);
  EXPECT_EQ(columns[1].span.reserved_max, uint64_t{2} << 20);
}

TEST(Columns, AFileWithoutEventsHasOneState) {
  testing::TraceBuilder b;
  b.finalSegment(0x1000, 2 << 20).block(2 << 20, model::BlockState::kActiveAllocated, 2 << 20);
  AnalysedTrace trace(b.build());
  EXPECT_EQ(samplesIn(trace, {Axis::kStep, 0, 2, 2}), (std::vector<Step>{0, kNoStep}));
  EXPECT_EQ(samplesIn(trace, {Axis::kTime, 0, 2, 1}), (std::vector<Step>{kNoStep}));
}

TEST(Columns, SamplesAreListedOnce) {
  AnalysedTrace trace = sixSteps();
  Samples samples = samplesOf(
      columnPeaks(*trace.devices[0], {.axis = Axis::kStep, .x0 = -1, .x1 = 3, .columns = 8}));
  EXPECT_EQ(samples.step, (std::vector<Step>{0, 1, 2}));
  EXPECT_EQ(samples.begin, (std::vector<uint32_t>{2, 4, 6, 8}));
}

TEST(Columns, RefuseRangesThatCannotBeCut) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(isUsable({Axis::kStep, 0, 1, 1024}));
  EXPECT_FALSE(isUsable({Axis::kStep, 1, 1, 10}));
  EXPECT_FALSE(isUsable({Axis::kStep, 0, kInfinity, 10}));
  EXPECT_FALSE(isUsable({Axis::kStep, std::nan(""), 1, 10}));
  EXPECT_FALSE(isUsable({Axis::kStep, 0, 1, 0}));
  EXPECT_FALSE(isUsable({Axis::kStep, 0, 1e300, 10}));
}

}  // namespace
}  // namespace tidegauge::view
