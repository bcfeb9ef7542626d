#include "analysis/findings.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using model::BlockState;
using testing::TraceBuilder;

std::vector<Finding> findingsIn(TraceBuilder& b) {
  AnalysedTrace analysed(b.build());
  DeviceSummary summary = summarise(analysed, *analysed.devices[0]);
  return findingsOf(analysed, summary, {}, !summary.ooms.empty());
}

const Finding* find(const std::vector<Finding>& all, FindingKind kind) {
  for (const Finding& it : all)
    if (it.kind == kind) return &it;
  return nullptr;
}

TEST(Findings, TheWorstRequestHasItsSizeAndTheNumberOfAll) {
  TraceBuilder b;
  b.oom(0, kGiB).oom(0, 3 * kGiB).oom(0, 2 * kGiB);
  std::vector<Finding> all = findingsIn(b);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].kind, FindingKind::kOutOfMemory);
  EXPECT_EQ(all[0].severity, Finding::Severity::kHigh);
  EXPECT_EQ(all[0].value("step"), 1U);
  EXPECT_EQ(all[0].value("requested_bytes"), 3 * kGiB);
  EXPECT_EQ(all[0].value("refused_requests"), 3U);
  EXPECT_TRUE(all[0].in_story);
}

TEST(Findings, FreeMemoryThatBlocksKeepAtTheEnd) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 5 * kMiB);
  b.finalSegment(kA, 20 * kMiB).block(5 * kMiB, BlockState::kActiveAllocated, 5 * kMiB);
  b.block(15 * kMiB, BlockState::kInactive);
  std::vector<Finding> all = findingsIn(b);
  const Finding* pinned = find(all, FindingKind::kPinnedAtEnd);
  ASSERT_NE(pinned, nullptr);
  EXPECT_EQ(pinned->value("pinned_segments"), 1U);
  EXPECT_EQ(pinned->value("pinned_bytes"), 15 * kMiB);
  EXPECT_EQ(pinned->find("no_such_figure"), std::nullopt);
}

TEST(Findings, MemoryFromBeforeTheRecordingIsCountedAtThePeak) {
  TraceBuilder b;
  b.freeCompleted(kA, 5 * kMiB).alloc(kA, 3 * kMiB);
  b.finalSegment(kA, 20 * kMiB).block(3 * kMiB, BlockState::kActiveAllocated, 3 * kMiB);
  b.block(17 * kMiB, BlockState::kInactive);
  std::vector<Finding> all = findingsIn(b);
  const Finding* older = find(all, FindingKind::kOlder);
  ASSERT_NE(older, nullptr);
  EXPECT_EQ(older->value("peak_bytes"), 5 * kMiB);
  EXPECT_EQ(older->value("blocks"), 1U);
  EXPECT_FALSE(older->in_story);
}

TEST(Findings, AContradictionStandsFirst) {
  TraceBuilder b;
  b.freeCompleted(kA + 6 * kMiB, kMiB).segmentAlloc(kA, 20 * kMiB).alloc(kA, 5 * kMiB);
  b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  std::vector<Finding> all = findingsIn(b);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].kind, FindingKind::kContradiction);
  EXPECT_EQ(all[0].value("difference_bytes"), 5 * kMiB);
  EXPECT_EQ(all[0].find("peak_bytes"), std::nullopt);
  for (size_t i = 1; i < all.size(); ++i) EXPECT_LE(all[i - 1].severity, all[i].severity);
}

TEST(Findings, OneEventIsAStateOnly) {
  TraceBuilder b;
  b.freeCompleted(kA, 5 * kMiB);
  b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  std::vector<Finding> all = findingsIn(b);
  EXPECT_NE(find(all, FindingKind::kOnlyState), nullptr);
  EXPECT_EQ(find(all, FindingKind::kOlder), nullptr) << "no peak is known";
}

TEST(Findings, ASettingThatHidesRefusals) {
  TraceBuilder b;
  b.alloc(kA, kMiB).free(kA, kMiB);
  b.settings().conf = "throw_on_cudamalloc_oom:True";
  std::vector<Finding> all = findingsIn(b);
  const Finding* silent = find(all, FindingKind::kSilentRefusals);
  ASSERT_NE(silent, nullptr);
  EXPECT_EQ(silent->setting, "throw_on_cudamalloc_oom");
}

}  // namespace
}  // namespace tidegauge::analysis
