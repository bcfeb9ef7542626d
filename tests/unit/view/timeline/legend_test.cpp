#include "view/timeline/legend.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/trace_builder.h"
#include "view/timeline/siblings.h"
#include "view/timeline/slots.h"

namespace tidegauge::view {
namespace {

using analysis::AnalysedTrace;

AnalysedTrace threeStacks() {
  testing::TraceBuilder b;
  b.stack({"f@a.py:1"}).alloc(0x10000000, 4 * kMiB).alloc(0x20000000, 4 * kMiB);
  b.stack({"g@b.py:2"}).alloc(0x30000000, 20 * kMiB);
  b.noStack().stream(7).alloc(0x40000000, kMiB);
  b.event(model::Action::kFree, 0x20000000, 4 * kMiB);
  return AnalysedTrace(b.build());
}

Legend legendOf(const AnalysedTrace& trace, Step step, LegendBy by) {
  return legendAt(trace, *trace.devices[0], step, by);
}

TEST(Legend, GroupsWhatIsLiveByStack) {
  AnalysedTrace trace = threeStacks();
  Legend legend = legendOf(trace, 3, LegendBy::kStack);
  EXPECT_EQ(legend.total_bytes, 29 * kMiB);
  ASSERT_EQ(legend.rows.size(), 3u);
  EXPECT_EQ(legend.rows[0].bytes, 20 * kMiB);
  EXPECT_EQ(legend.rows[1].blocks, 2u);
  EXPECT_EQ(legend.rows[1].slot, stackSlot(trace, 0));
  EXPECT_EQ(legend.rows[2].slot, kSlotUnknown);
  EXPECT_EQ(legendOf(trace, 4, LegendBy::kStack).rows[1].blocks, 1u);
}

TEST(Legend, AddsUpInEveryGrouping) {
  AnalysedTrace trace = threeStacks();
  for (const char* name : {"stack", "category", "stream", "pool", "size", "age", "provenance"}) {
    std::optional<LegendBy> by = legendByName(name);
    ASSERT_TRUE(by) << name;
    Legend legend = legendOf(trace, 3, *by);
    uint64_t sum = 0;
    for (const LegendRow& row : legend.rows) sum += row.bytes;
    EXPECT_EQ(sum, legend.total_bytes) << name;
    EXPECT_EQ(sum, 29 * kMiB) << name;
  }
  EXPECT_FALSE(legendByName("colour"));
}

TEST(Legend, NamesClassesOfSize) {
  AnalysedTrace trace = threeStacks();
  Legend legend = legendOf(trace, 3, LegendBy::kSize);
  ASSERT_EQ(legend.rows.size(), 3u);
  EXPECT_EQ(legend.rows[0].key, "24");
  EXPECT_EQ(legend.rows[0].label, "16.0 MiB to 32.0 MiB");
}

TEST(Legend, PutsTheSmallestTogether) {
  testing::TraceBuilder b;
  for (int i = 0; i < 20; ++i) {
    b.stack({"f@a.py:" + std::to_string(i + 1)});
    b.alloc(0x10000000 + static_cast<uint64_t>(i) * 64 * kMiB,
            (1 + static_cast<uint64_t>(i)) * kMiB);
  }
  AnalysedTrace trace(b.build());
  Legend legend = legendOf(trace, 19, LegendBy::kStack);
  ASSERT_EQ(legend.rows.size(), kMaxLegendRows + 1);
  EXPECT_EQ(legend.rows.back().key, "other");
  EXPECT_EQ(legend.rows.back().blocks, 8u);
  EXPECT_EQ(legend.rows.back().slot, kSlotOther);
}

TEST(Siblings, AreCountedOverTheWholeRecording) {
  AnalysedTrace trace = threeStacks();
  Siblings siblings(trace.trace);
  SiblingTotals totals = siblings.of(trace.trace.allocations.stack[0]);
  EXPECT_EQ(totals.count, 2u);
  EXPECT_EQ(totals.bytes, 8 * kMiB);
  EXPECT_EQ(totals.live_at_end_count, 1u);
  EXPECT_EQ(totals.live_at_end_bytes, 4 * kMiB);
  EXPECT_EQ(siblings.of(model::StackId()).count, 0u);
}

TEST(Slots, AreNamedAfterTheirCategory) {
  EXPECT_EQ(categoryName(4), "norm and residual");
  EXPECT_EQ(categoryName(kSlotUnknown), "unknown or older");
  EXPECT_EQ(categoryName(kSlotOther), "other");
}

}  // namespace
}  // namespace tidegauge::view
