// Causes outside the settings, each with the effect of its remedy.
#include "analysis/what_if/causes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

constexpr uint64_t kSegmentAt = uint64_t{1} << 40;

// 400 MiB of a device of 1,000 MiB are held; 200 more are refused.
model::Trace refusedByALimit(const std::string& conf) {
  testing::TraceBuilder b;
  b.settings().present = true;
  b.settings().conf = conf;
  b.segmentAlloc(kSegmentAt, 400 * kMiB).alloc(kSegmentAt, 400 * kMiB);
  b.oom(600 * kMiB, 200 * kMiB);
  b.finalSegment(kSegmentAt, 400 * kMiB)
      .block(400 * kMiB, model::BlockState::kActiveAllocated, 400 * kMiB);
  return b.build();
}

const Advice* limitIn(const std::vector<Advice>& causes) {
  auto found = std::ranges::find(causes, AdviceKind::kMemoryFraction, &Advice::kind);
  return found == causes.end() ? nullptr : &*found;
}

TEST(Causes, ALargerFractionIsReplayed) {
  AnalysedTrace analysed(refusedByALimit("per_process_memory_fraction:0.5"));
  ProvenProgram proven(analysed, *analysed.devices.front());
  std::vector<Advice> causes = causesOf(proven, {});
  const Advice* limit = limitIn(causes);
  ASSERT_NE(limit, nullptr);
  EXPECT_EQ(limit->setting, "per_process_memory_fraction:0.61");
  ASSERT_TRUE(limit->effect);
  EXPECT_TRUE(limit->effect->helps);
  EXPECT_EQ(limit->effect->ooms_before, 1U);
  EXPECT_EQ(limit->effect->ooms_after, 0U);
  EXPECT_EQ(limit->effect->conf, "per_process_memory_fraction:0.61");
}

// Several pools help alike. First comes one without live memory, then the one that keeps more free.
TEST(Causes, APoolWithoutLiveMemoryGoesFirst) {
  auto pool = [](uint64_t free_bytes, uint64_t freed_live_bytes) {
    Advice a{.kind = AdviceKind::kReleasePool};
    a.evidence = {{"pool_free_bytes", free_bytes, Evidence::Unit::kBytes, ""}};
    a.effect = AdviceEffect{.helps = true, .ooms_before = 1, .freed_live_bytes = freed_live_bytes};
    return a;
  };
  std::vector<Advice> advice{pool(360, 240), pool(100, 0), pool(600, 0)};
  orderByEffect(advice);
  std::vector<uint64_t> order;
  for (const Advice& a : advice) order.push_back(a.value("pool_free_bytes"));
  EXPECT_EQ(order, (std::vector<uint64_t>{600, 100, 360}));
}

TEST(Causes, ALimitThatNoSettingNamesIsRaised) {
  AnalysedTrace analysed(refusedByALimit(""));
  ProvenProgram proven(analysed, *analysed.devices.front());
  std::vector<Advice> causes = causesOf(proven, {});
  const Advice* limit = limitIn(causes);
  ASSERT_NE(limit, nullptr);
  EXPECT_EQ(limit->setting, "");
  EXPECT_EQ(limit->value("needed_bytes"), 600 * kMiB);
  ASSERT_TRUE(limit->effect);
  EXPECT_TRUE(limit->effect->helps);
  EXPECT_EQ(limit->effect->ooms_after, 0U);
  EXPECT_EQ(limit->effect->conf, "");
}

TEST(Causes, AWhatIfHasThemOnlyWhereARequestMayFail) {
  AnalysedTrace analysed(refusedByALimit("per_process_memory_fraction:0.5"));
  const DeviceAnalysis& device = *analysed.devices.front();
  WhatIfWish wish;
  EXPECT_TRUE(whatIf(analysed, device, wish).value().causes.empty());
  wish.with_causes = true;
  EXPECT_NE(limitIn(whatIf(analysed, device, wish).value().causes), nullptr);
  wish.capacity_bytes = 80 * 1024 * kMiB;  // another device
  wish.fraction = 1;
  EXPECT_TRUE(whatIf(analysed, device, wish).value().causes.empty());
}

TEST(Causes, ASettingIsNone) {
  EXPECT_TRUE(isOutsideSettings(AdviceKind::kReleasePool));
  EXPECT_TRUE(isOutsideSettings(AdviceKind::kFlushBeforeCapture));
  EXPECT_FALSE(isOutsideSettings(AdviceKind::kExpandable));
  Advice helpful{.kind = AdviceKind::kOtherProcesses};
  helpful.effect = AdviceEffect{.helps = true};
  Advice disproved{.kind = AdviceKind::kPool};
  disproved.effect = AdviceEffect{};
  std::vector<Advice> advice{disproved, {.kind = AdviceKind::kExpandable}, helpful};
  orderByEffect(advice);
  std::vector<Advice> causes = causesIn(advice);
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].kind, AdviceKind::kOtherProcesses);
  EXPECT_EQ(causes[1].kind, AdviceKind::kPool);
}

}  // namespace
}  // namespace tidegauge::analysis
