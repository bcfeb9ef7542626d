#include "report/words/range_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/story/report_text.h"
#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using testing::TraceBuilder;

model::Trace twoDevices() {
  TraceBuilder b;
  b.time(1'000'000).segmentAlloc(kA, 20 * kMiB);                    // 0
  b.stack({"f@a.py:1"}).alloc(kA, 2 * kMiB);                        // 1
  b.stack({"g@a.py:2"}).alloc(kA + 4 * kMiB, 8 * kMiB);             // 2: the peak, 10 MiB
  b.free(kA, 2 * kMiB);                                             // 3, 4
  b.oom(kMiB, 64 * kMiB);                                           // 5
  b.free(kA + 4 * kMiB, 8 * kMiB);                                  // 6, 7
  b.device(1).noStack().segmentAlloc(kA, 2 * kMiB).alloc(kA, 512);  // 0, 1
  b.annotation("late", 1'000'004, 1'000'006);
  return b.build();
}

TEST(Choose, EveryDeviceOrOne) {
  AnalysedTrace analysed(twoDevices());
  EXPECT_EQ(choose(analysed, {}).value().devices.size(), 2U);
  auto one = choose(analysed, {.device = 1, .from = {}, .to = {}});
  ASSERT_EQ(one.value().devices.size(), 1U);
  EXPECT_EQ(one.value().devices[0].device->device.ordinal, 1);
  auto none = choose(analysed, {.device = 7, .from = {}, .to = {}});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().what, "there is no device 7");
  EXPECT_EQ(none.error().hint, "The file has: 0, 1.");
}

TEST(Choose, DevicesThatHaveTheRange) {
  AnalysedTrace analysed(twoDevices());
  Choice choice = choose(analysed, {.device = {}, .from = "4", .to = {}}).value();
  ASSERT_EQ(choice.devices.size(), 1U) << "device 1 ends at step 1";
  EXPECT_EQ(choice.devices[0].range->first, 4U);
  EXPECT_EQ(choice.devices[0].range->last, 7U);
  ASSERT_EQ(choice.absent.size(), 1U) << "device 1 is not dropped silently";
  EXPECT_EQ(choice.absent[0].what, "cuda:1 has no step 4");
  EXPECT_FALSE(choose(analysed, {.device = {}, .from = "99", .to = {}}).ok());
}

TEST(RangeSummary, TotalsPeaksAndHoldersOfItsSteps) {
  AnalysedTrace analysed(twoDevices());
  RangeSummary late = summariseRange(analysed, *analysed.devices[0], {4, 7});
  EXPECT_EQ(late.before.active_bytes, 10 * kMiB);
  EXPECT_EQ(late.after.active_bytes, 0U);
  EXPECT_EQ(late.peak.active.bytes, 10 * kMiB) << "the state before it counts";
  EXPECT_EQ(late.peak.active.step, 3U);
  EXPECT_EQ(late.peak.holders.block_bytes, 10 * kMiB);
  ASSERT_EQ(late.ooms.size(), 1U);
  EXPECT_TRUE(summariseRange(analysed, *analysed.devices[0], {6, 7}).ooms.empty());
}

// The whole recording as a range has the same peaks.
TEST(RangeSummary, AgreesWithThePeaksOfMessyTraces) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    AnalysedTrace analysed(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0}));
    for (const auto& device : analysed.devices) {
      if (device->totals.steps() == 0) continue;
      RangeSummary all = summariseRange(analysed, *device, {0, device->totals.steps() - 1});
      EXPECT_EQ(all.peak.active.bytes, device->totals.peakActive().bytes);
      EXPECT_EQ(all.peak.active.place(), device->totals.peakActive().place());
      EXPECT_EQ(all.peak.allocated.bytes, device->totals.peakAllocated().bytes);
      EXPECT_EQ(all.peak.reserved.place(), device->totals.peakReserved().place());
    }
  }
}

TEST(RangeSummary, IsMentionedInTheReport) {
  AnalysedTrace analysed(twoDevices());
  auto chosen = choose(analysed, {.device = 0, .from = "late", .to = "late"});
  std::string text = reportText(analysed, chosen.value().devices, {.evidence = true});
  EXPECT_THAT(text, ::testing::HasSubstr("cuda:0: steps 4 – 6 of 8, 0.000 – 0.000 s"));
  EXPECT_THAT(text, ::testing::HasSubstr("Out of memory at step 5: the program requested 64.0 "
                                         "MiB; the driver had 1.0 MiB free."));
  EXPECT_THAT(text, ::testing::HasSubstr(
                        "Holders of 10.0 MiB at the peak of these steps, the state before them"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("cuda:1")));
}

}  // namespace
}  // namespace tidegauge::report
