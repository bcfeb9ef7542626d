// One advised change, replayed: its effect is that of the same wish or edit.
#include "analysis/what_if/advised_change.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "readers/torch/unpack/open_snapshots.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using What = AdvisedChange::What;
constexpr uint64_t kStart = uint64_t{1} << 40;

class AdvisedChangeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* source = std::getenv("TIDEGAUGE_SOURCE_DIR");
    ASSERT_NE(source, nullptr);
    auto opened =
        readers::torch::openSnapshots(std::string(source) + "/examples/oom.pickle.zst", {});
    ASSERT_TRUE(opened.ok());
    analysed_ = std::make_unique<AnalysedTrace>(std::move(opened.value().front()));
    device_ = analysed_->devices.front().get();
    proven_ = std::make_unique<ProvenProgram>(*analysed_, *device_);
  }
  ChangeEffect effect(const AdvisedChange& change) {
    auto result = effectOf(*proven_, change);
    EXPECT_TRUE(result.ok());
    return result.ok() ? result.value() : ChangeEffect();
  }

  std::unique_ptr<AnalysedTrace> analysed_;
  const DeviceAnalysis* device_ = nullptr;
  std::unique_ptr<ProvenProgram> proven_;
};

TEST_F(AdvisedChangeTest, ASettingHasTheEffectOfTheSameWish) {
  ChangeEffect it = effect({What::kSetting, "expandable_segments:True"});
  WhatIfWish wish;
  wish.confs = {it.conf};
  WhatIf report = whatIf(*proven_, wish).value();
  EXPECT_TRUE(it.is_proven);
  EXPECT_EQ(it.ooms_before, report.recorded_ooms);
  EXPECT_EQ(it.ooms_after, report.candidates.front().mostOoms());
  EXPECT_EQ(it.peak_reserved_bytes_before, report.recorded_peak_bytes);
  EXPECT_EQ(it.peak_reserved_bytes_after, report.candidates.front().mostReservedBytes());
  EXPECT_EQ(it.helps, report.best_helps);
  EXPECT_EQ(it.forecast_from, report.candidates.front().forecast_from);
}

TEST_F(AdvisedChangeTest, AnEmptyCacheHasTheEffectOfTheSameEdit) {
  ChangeEffect it = effect({.what = What::kEmptyCache, .step = 9000});
  WhatIfWish wish;
  wish.edits.push_back({ProgramEdit::What::kEmptyCache, {}, "9000"});
  WhatIf report = whatIf(*proven_, wish).value();
  EXPECT_EQ(it.ooms_after, report.edits.front().replayed.mostOoms());
  EXPECT_EQ(it.peak_reserved_bytes_after, report.edits.front().replayed.mostReservedBytes());
}

TEST_F(AdvisedChangeTest, WhatTheDeviceDoesNotHaveIsAnError) {
  EXPECT_FALSE(effectOf(*proven_, {.what = What::kEmptyCache, .step = 1 << 30}).ok());
  EXPECT_FALSE(effectOf(*proven_, {.what = What::kReleasePool, .step = 9}).ok());
  EXPECT_FALSE(
      effectOf(*proven_, {.what = What::kReleasePool, .step = 9, .pool = model::PoolId(0)}).ok());
  EXPECT_FALSE(effectOf(*proven_, {What::kSetting, "max_split_size_mb:1"}).ok());
}

// The rest of the recording's own string is kept; what fights the change is removed.
TEST(AdvisedChange, ASettingReplacesItsOwnKey) {
  testing::TraceBuilder b;
  b.settings().present = true;
  b.settings().conf = "max_split_size_mb:128,roundup_power2_divisions:[256:1,>:8]";
  b.settings().max_split_bytes = 128 * kMiB;
  b.settings().roundup_power2_divisions.fill(1);
  for (size_t i = 9; i < 16; ++i) b.settings().roundup_power2_divisions[i] = 8;
  b.segmentAlloc(kStart, 40 * kMiB).alloc(kStart, 40 * kMiB);
  AnalysedTrace analysed(b.build());
  ProvenProgram proven(analysed, *analysed.devices.front());
  auto confOf = [&](const char* change) {
    auto it = effectOf(proven, {What::kSetting, change});
    return it.ok() ? it.value().conf : it.error().what;
  };
  std::string divisions = "roundup_power2_divisions:[256:1,512:8,>:8]";
  EXPECT_EQ(confOf("expandable_segments:True"), divisions + ",expandable_segments:True");
  EXPECT_EQ(confOf("max_split_size_mb:256"), divisions + ",max_split_size_mb:256");
  EXPECT_EQ(confOf("roundup_power2_divisions:"), "max_split_size_mb:128");
  EXPECT_EQ(confOf("max_split_size_mb:,roundup_power2_divisions:"), "");
}

// A pool keeps a free segment of 600 MiB and a block of 100. 750 MiB do not fit beside them on a
// device of 900, but 750 and 100 do.
TEST(AdvisedChange, APoolThatIsReleasedReturnsItsSegments) {
  testing::TraceBuilder b;
  uint64_t whole = kStart, used = kStart + 1024 * kMiB;
  b.segmentAlloc(whole, 600 * kMiB).alloc(whole, 600 * kMiB);
  b.segmentAlloc(used, 100 * kMiB).alloc(used, 100 * kMiB);
  b.free(whole, 600 * kMiB);
  b.oom(200 * kMiB, 750 * kMiB);
  b.pool(0, 7);
  b.finalSegment(whole, 600 * kMiB).block(600 * kMiB, model::BlockState::kInactive);
  b.finalSegment(used, 100 * kMiB)
      .block(100 * kMiB, model::BlockState::kActiveAllocated, 100 * kMiB);
  AnalysedTrace analysed(b.build());
  const model::Trace& trace = analysed.trace;
  ProvenProgram proven(analysed, *analysed.devices.front());
  model::PoolId pool = trace.final_segments.pool.front();
  auto cache = effectOf(proven, {.what = What::kReleasePoolCache, .step = 6, .pool = pool});
  ASSERT_TRUE(cache.ok());
  EXPECT_TRUE(cache.value().is_proven);
  EXPECT_EQ(cache.value().ooms_before, 1U);
  EXPECT_EQ(cache.value().ooms_after, 0U);
  EXPECT_EQ(cache.value().freed_blocks, 0U);
  EXPECT_TRUE(cache.value().helps);
  auto all = effectOf(proven, {.what = What::kReleasePool, .step = 6, .pool = pool});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all.value().ooms_after, 0U);
  EXPECT_EQ(all.value().freed_blocks, 1U);
  EXPECT_EQ(all.value().freed_bytes, 100 * kMiB);
}

// A block of a pool is freed early, before the pool requests as much again. That is served by the
// block, unless another stream still uses it.
TEST(AdvisedChange, ABlockOfAReleasedPoolWaitsForOtherStreams) {
  uint64_t first = kStart, second = kStart + 1024 * kMiB;
  auto peakAfterRelease = [&](bool is_shared) {
    testing::TraceBuilder b;
    b.segmentAlloc(first, 100 * kMiB).alloc(first, 100 * kMiB);
    b.segmentAlloc(second, 100 * kMiB).alloc(second, 100 * kMiB);
    b.freeRequested(first, 100 * kMiB);
    if (!is_shared) b.freeCompleted(first, 100 * kMiB);
    b.free(second, 100 * kMiB);
    if (is_shared) b.freeCompleted(first, 100 * kMiB);
    b.pool(0, 7);
    for (uint64_t segment : {first, second})
      b.finalSegment(segment, 100 * kMiB).block(100 * kMiB, model::BlockState::kInactive);
    AnalysedTrace analysed(b.build());
    ProvenProgram proven(analysed, *analysed.devices.front());
    model::PoolId pool = analysed.trace.final_segments.pool.front();
    auto effect = effectOf(proven, {.what = What::kReleasePool, .step = 2, .pool = pool});
    EXPECT_TRUE(effect.ok() && effect.value().is_proven);
    if (!effect.ok()) return uint64_t{0};
    EXPECT_EQ(effect.value().freed_blocks, 1U);
    EXPECT_EQ(effect.value().freed_bytes, 100 * kMiB);
    EXPECT_EQ(effect.value().helps, !is_shared);
    return effect.value().peak_reserved_bytes_after;
  };
  EXPECT_EQ(peakAfterRelease(false), 100 * kMiB);
  EXPECT_EQ(peakAfterRelease(true), 200 * kMiB);
}

}  // namespace
}  // namespace tidegauge::analysis
