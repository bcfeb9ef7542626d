#include "analysis/summary.h"

#include <gtest/gtest.h>

#include "model/block_size.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using model::BlockState;
using testing::TraceBuilder;

TEST(Peak, EachSizeHasItsOwnStepAndTheHoldersAreThoseOfActive) {
  TraceBuilder b;
  b.segmentAlloc(kA, 40 * kMiB).stack({"f@/home/me/a.py:1"}).alloc(kA, 5 * kMiB);
  b.stack({"g@/home/me/a.py:2"}).alloc(kA + 10 * kMiB, 2 * kMiB);
  b.freeRequested(kA, 5 * kMiB).alloc(kA + 20 * kMiB, kMiB + 1).freeCompleted(kA, 5 * kMiB);
  b.segmentAlloc(kA + 100 * kMiB, 20 * kMiB);
  AnalysedTrace analysed(b.build());
  PeakReport peak = peakOf(analysed, *analysed.devices[0]);
  EXPECT_EQ(peak.active.step, 4U);
  EXPECT_EQ(peak.active.bytes, 8 * kMiB + 512);
  EXPECT_EQ(peak.requested.bytes, 8 * kMiB + 1);
  EXPECT_EQ(peak.allocated.step, 2U);
  EXPECT_EQ(peak.allocated.bytes, 7 * kMiB);
  EXPECT_EQ(peak.reserved.step, 6U);
  EXPECT_EQ(peak.holders.block_bytes, peak.active.bytes);
  EXPECT_EQ(peak.holders.blocks, 3U);
  ASSERT_EQ(peak.holders.groups.size(), 2U);
  EXPECT_EQ(analysed.labels.label(peak.holders.groups[0].stack), "a.py:1 f");
  EXPECT_EQ(peak.uncertain_bytes, 0U);
}

TEST(Peak, AtTheStartTheHoldersAreThoseBeforeTheFirstEvent) {
  TraceBuilder b;
  b.stack({"f@a.py:1"}).freeCompleted(kA, 5 * kMiB).stack({"g@a.py:2"}).alloc(kA, 3 * kMiB);
  b.finalSegment(kA, 20 * kMiB).block(3 * kMiB, BlockState::kActiveAllocated, 3 * kMiB);
  b.block(17 * kMiB, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  const DeviceAnalysis& device = *analysed.devices[0];
  PeakReport peak = peakOf(analysed, device);
  EXPECT_EQ(peak.active.place(), -1);
  EXPECT_EQ(peak.active.bytes, device.totals.initial().active_bytes);
  EXPECT_EQ(peak.holders.place(), -1);
  EXPECT_EQ(peak.holders.block_bytes, peak.active.bytes);
  EXPECT_EQ(byProvenance(analysed, device, peak.active).older_bytes, peak.active.bytes);
  for (const Identity& identity : identitiesOf(analysed, device)) {
    EXPECT_TRUE(identity.holds) << identity.text;
  }
  EXPECT_EQ(peaksOver(device.totals, 0, 1).active.place(), -1);
  EXPECT_EQ(peaksOver(device.totals, 1, 1).active.place(), 1) << "5 MiB were freed before it";
}

// A part of a recording may begin at its highest state.
TEST(Peak, OfAPartIncludesTheStateBeforeItsFirstEvent) {
  TraceBuilder b;
  b.time(1000).segmentAlloc(kA, 40 * kMiB).alloc(kA, 5 * kMiB);  // steps 0, 1
  b.free(kA, 5 * kMiB).alloc(kA, kMiB);                          // steps 2, 3, 4
  b.annotation("free", 1002, 1004).annotation("all", 1000, 1004);
  AnalysedTrace analysed(b.build());
  const DeviceAnalysis& device = *analysed.devices[0];
  PeakReport part = peaksOver(device.totals, 3, 4);
  EXPECT_EQ(part.active.bytes, 5 * kMiB);
  EXPECT_EQ(part.active.place(), 2);
  EXPECT_EQ(part.allocated.bytes, kMiB) << "the free was requested at step 2";
  EXPECT_EQ(part.allocated.place(), 4);
  EXPECT_EQ(part.reserved.bytes, 40 * kMiB);
  EXPECT_EQ(part.reserved.place(), 3) << "as high before: the first step of the part";
  for (const PhaseSummary& phase : phaseSummaries(device)) {
    EXPECT_EQ(phase.peak_active_bytes, 5 * kMiB);
    bool is_whole = phase.begin_step == 0;
    EXPECT_EQ(phase.peak_step, is_whole ? 1 : int64_t{phase.begin_step});
  }
  EXPECT_EQ(phaseSummaries(device).size(), 2U);
}

TEST(Peak, OfAPhaseCanBeBeforeTheRecording) {
  TraceBuilder b;
  b.time(1000).freeCompleted(kA, 5 * kMiB).alloc(kA, 3 * kMiB).annotation("all", 1000, 1001);
  b.finalSegment(kA, 20 * kMiB).block(3 * kMiB, BlockState::kActiveAllocated, 3 * kMiB);
  b.block(17 * kMiB, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  const DeviceAnalysis& device = *analysed.devices[0];
  ASSERT_EQ(phaseSummaries(device).size(), 1U);
  EXPECT_EQ(phaseSummaries(device)[0].peak_step, -1);
  EXPECT_EQ(phaseSummaries(device)[0].peak_active_bytes, device.totals.initial().active_bytes);
}

// enabled="state" keeps one event per device, so the history before it is unknown.
TEST(Peak, IsUnknownIfTheFileHasOnlyAState) {
  auto one_event = [](TraceBuilder& b) -> TraceBuilder& {
    b.freeCompleted(kA, 5 * kMiB);
    return b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  };
  TraceBuilder first, second;
  AnalysedTrace one(one_event(first).build());
  EXPECT_TRUE(hasOnlyState(one.trace, one.devices[0]->device));
  PeakReport peak = peakOf(one, *one.devices[0]);
  EXPECT_GE(peak.active.bytes, one.devices[0]->totals.initial().active_bytes);
  EXPECT_EQ(peak.holders.block_bytes, one.devices[0]->totals.last().active_bytes);
  one_event(second).device(1).alloc(kA, 512).freeCompleted(kA, 512);
  AnalysedTrace two(second.build());
  EXPECT_FALSE(hasOnlyState(two.trace, two.devices[0]->device)) << "device 1 has a history";
}

TEST(Peak, UncertainBlocksAddTheirSlack) {
  TraceBuilder b;
  b.free(kA, 3 * kMiB).free(kA + 10 * kMiB, 3 * kMiB);
  b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  EXPECT_EQ(peakOf(analysed, *analysed.devices[0]).uncertain_bytes,
            2 * model::kUnsplitRemainderBytes);
  EXPECT_TRUE(peakOf(analysed, *analysed.devices[0]).is_at_least);
  // The second block is freed at the last two steps, the first before.
  EXPECT_TRUE(isPeakAtLeast(analysed, *analysed.devices[0], 1, 3));
}

TEST(Peak, IsALowerBoundWhereBlocksAreInferred) {
  auto trace = [] {
    TraceBuilder b;
    b.segmentAlloc(kA, 40 * kMiB).alloc(kA, 40 * kMiB).free(kA, 40 * kMiB);
    return b.build();
  };
  auto isAtLeast = [](model::Trace made) {
    AnalysedTrace analysed(std::move(made));
    return peakOf(analysed, *analysed.devices[0]).is_at_least;
  };
  EXPECT_FALSE(isAtLeast(trace()));
  model::Trace gap = trace();
  gap.devices[0].gaps = {2};
  EXPECT_TRUE(isAtLeast(std::move(gap)));
  model::Trace no_births = trace();
  no_births.devices[0].missing.add(model::Action::kSegmentAlloc);
  EXPECT_TRUE(isAtLeast(std::move(no_births)));
}

TEST(Summary, PhasesSayHowHighAndHowMuchMore) {
  TraceBuilder b;
  b.time(10).alloc(kA, 512).time(20).alloc(kA + 4096, 1024).time(30).freeCompleted(kA, 512);
  b.time(40).freeCompleted(kA + 4096, 1024);
  b.annotation("inner", 20, 30, 1).annotation("all", 10, 40, 0).annotation("empty", 31, 39, 0);
  AnalysedTrace analysed(b.build());
  DeviceSummary summary = summarise(analysed, *analysed.devices[0]);
  EXPECT_EQ(summary.phases_total, 2U);
  ASSERT_EQ(summary.phases.size(), 2U);  // outer ones first
  EXPECT_EQ(summary.phases[0].depth, 0);
  EXPECT_EQ(summary.phases[0].grew_bytes, 0);
  EXPECT_EQ(summary.phases[1].begin_step, 1U);
  EXPECT_EQ(summary.phases[1].end_step, 3U);
  EXPECT_EQ(summary.phases[1].peak_active_bytes, 1536U);
  EXPECT_EQ(summary.phases[1].peak_step, 1);
  EXPECT_EQ(summary.phases[1].grew_bytes, 512);
}

TEST(Summary, ManyPhasesAreBoundedAndCounted) {
  TraceBuilder b;
  b.time(10).alloc(kA, 512);
  for (int i = 0; i < 1000; ++i) b.annotation("phase", 0, 20);
  AnalysedTrace analysed(b.build());
  DeviceSummary summary = summarise(analysed, *analysed.devices[0]);
  EXPECT_EQ(summary.phases_total, 1000U);
  EXPECT_EQ(summary.phases.size(), kMaxPhases);
}

TEST(Summary, CountsLivesByProvenance) {
  TraceBuilder b;
  b.alloc(kA, 1).free(kA, 1).free(kA, 1).free(kA + 4096, 1);
  b.finalSegment(kA + 8192, 512).block(512, BlockState::kActiveAllocated, 1);
  AnalysedTrace analysed(b.build());
  DeviceSummary summary = summarise(analysed, *analysed.devices[0]);
  for (uint64_t count : summary.allocations_by_provenance) EXPECT_EQ(count, 1U);
}

TEST(Summary, DevicesAreNamedAndFound) {
  TraceBuilder b;
  b.device(0).alloc(kA, 1).device(-1).alloc(kA, 1);
  AnalysedTrace analysed(b.build());
  ASSERT_NE(analysed.findDevice(-1), nullptr);
  EXPECT_EQ(deviceLabel(analysed.findDevice(-1)->device), "pinned host memory");
  EXPECT_EQ(deviceLabel(analysed.findDevice(0)->device), "cuda:0");
  model::Device device = analysed.findDevice(0)->device;
  device.known = model::Known::kInPart;
  EXPECT_EQ(deviceLabel(device), "cuda:0 and device not known");
  device.known = model::Known::kNothing;
  EXPECT_EQ(deviceLabel(device), "device not known");
  EXPECT_EQ(analysed.findDevice(5), nullptr);
}

}  // namespace
}  // namespace tidegauge::analysis
