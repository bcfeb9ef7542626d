#include "analysis/oom.h"

#include <gtest/gtest.h>

#include "analysis/summary.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kA = 0x7f0000000000;

TEST(Oom, ARequestOfUnknownSizeIsShortByNobodyKnowsWhat) {
  TraceBuilder b;
  b.oom(10 * kMiB, model::kUnknownBytes);
  AnalysedTrace analysed(b.build());
  OomReport oom = oomsOf(analysed, *analysed.devices[0]).at(0);
  EXPECT_FALSE(oom.requested_bytes.has_value());
  EXPECT_FALSE(oom.known());
  EXPECT_EQ(oom.overBytes(), 0U);
  EXPECT_EQ(oom.ceilingBytes(), 10 * kMiB);
}

TEST(Oom, SaysWhatWasAskedLeftAndFree) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 5 * kMiB).stack({"f@/home/me/a.py:1"});
  b.oom(10 * kMiB, 30 * kMiB);
  AnalysedTrace analysed(b.build());
  std::vector<OomReport> ooms = oomsOf(analysed, *analysed.devices[0]);
  ASSERT_EQ(ooms.size(), 1U);
  EXPECT_EQ(ooms[0].step, 2U);
  EXPECT_EQ(ooms[0].overBytes(), 20 * kMiB);
  EXPECT_EQ(ooms[0].ceilingBytes(), 30 * kMiB);
  EXPECT_EQ(ooms[0].totals.active_bytes, 5 * kMiB);
  ASSERT_TRUE(ooms[0].free.has_value());
  EXPECT_EQ(ooms[0].free->largest_bytes, 15 * kMiB);
  EXPECT_TRUE(ooms[0].stack.valid());
}

TEST(Oom, ALimitOfTheProcessIsNotTheDriversShortage) {
  TraceBuilder b;
  b.oom(50 * kMiB, 30 * kMiB);
  AnalysedTrace analysed(b.build());
  EXPECT_EQ(oomsOf(analysed, *analysed.devices[0])[0].overBytes(), 0U);
}

TEST(Oom, CountsWhatItsOwnRetryGaveBack) {
  TraceBuilder b;
  b.segmentFree(kA + 80 * kMiB, 2 * kMiB).alloc(kA, 512);  // earlier: somebody else's
  b.segmentFree(kA + 40 * kMiB, 20 * kMiB);
  b.freeCompleted(kA + 20 * kMiB, 512);  // a pending block that it waited for
  b.unmap(kA + 60 * kMiB, 20 * kMiB).oom(0, 30 * kMiB);
  AnalysedTrace analysed(b.build());
  OomReport oom = oomsOf(analysed, *analysed.devices[0])[0];
  EXPECT_EQ(oom.given_back_segments, 2U);
  EXPECT_EQ(oom.given_back_bytes, 40 * kMiB);
}

TEST(Oom, AnOrdinaryFreeBeforeItIsNotItsOwn) {
  TraceBuilder b;
  b.segmentFree(kA + 40 * kMiB, 20 * kMiB).free(kA, 512).oom(0, 30 * kMiB);
  AnalysedTrace analysed(b.build());
  EXPECT_EQ(oomsOf(analysed, *analysed.devices[0])[0].given_back_segments, 0U);
}

// Of very many only the worst are looked at in detail, wherever they are.
TEST(Oom, TheWorstIsAlwaysLookedAt) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB);
  for (int i = 0; i < 300; ++i) b.oom(0, (i == 250 ? 9 : 1) * kMiB);
  AnalysedTrace analysed(b.build());
  DeviceSummary summary = summarise(analysed, *analysed.devices[0]);
  EXPECT_EQ(summary.ooms.size(), 300U);
  EXPECT_EQ(summary.worst_oom, 250U);
  ASSERT_TRUE(summary.ooms[250].free.has_value());
  EXPECT_EQ(summary.ooms[250].free->bytes, 20 * kMiB);
  EXPECT_FALSE(summary.ooms[0].free.has_value());
  EXPECT_EQ(summary.ceiling_bytes, 20 * kMiB);
}

TEST(Oom, OfMoreThanAreLookedAtThatAreEquallyShortTheLastIs) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB);
  for (int i = 0; i < 300; ++i) b.oom(0, kMiB);
  AnalysedTrace analysed(b.build());
  DeviceSummary summary = summarise(analysed, *analysed.devices[0]);
  EXPECT_EQ(summary.worst_oom, 299U);
  EXPECT_TRUE(summary.ooms[299].free.has_value());
}

}  // namespace
}  // namespace tidegauge::analysis
