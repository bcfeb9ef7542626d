#include "report/oom/advice_words.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

using analysis::Advice;
using analysis::AdviceKind;
using analysis::AnalysedTrace;
using testing::TraceBuilder;
using Unit = analysis::Evidence::Unit;

struct Words {
  AnalysedTrace analysed;
  explicit Words(const std::string& conf = "") : analysed(made(conf)) {}
  static model::Trace made(const std::string& conf) {
    TraceBuilder b;
    b.settings().present = !conf.empty();
    b.settings().conf = conf;
    b.stack({"take@/home/me/a.py:3"}).segmentAlloc(kA, 2 * kMiB).alloc(kA, 2 * kMiB);
    b.pool(3, 0).finalSegment(kA, 2 * kMiB);
    b.block(2 * kMiB, model::BlockState::kActiveAllocated, 2 * kMiB);
    return b.build();
  }
  std::string of(const Advice& advice) const { return adviceText(analysed, advice); }
  std::string copy(const Advice& advice) const { return copyLine(analysed, advice); }
};

Advice advice(AdviceKind kind, std::vector<std::pair<std::string, uint64_t>> numbers = {},
              std::string setting = {}) {
  Advice a{.kind = kind, .setting = std::move(setting)};
  for (auto& [name, value] : numbers) a.evidence.push_back({name, value, Unit::kBytes, "test"});
  return a;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(AdviceWords, ExpandableSegmentsInThreeCases) {
  Words words;
  Advice a = advice(AdviceKind::kExpandable, {{"free_bytes", 807 * kMiB}, {"pieces", 27}});
  EXPECT_EQ(
      words.of(a),
      "Try expandable_segments:True. 807 MiB were in 27 free ranges. Expandable segments grow "
      "in place and return memory to the driver page by page. It needs PyTorch 2.1 or newer.");
  EXPECT_FALSE(has(Words("backend:native").of(a), "needs PyTorch")) << "the file has settings";
  EXPECT_TRUE(has(words.of(advice(AdviceKind::kExpandable, {{"rounding_bytes", 1}})),
                  "splits off the unused end"));
  EXPECT_TRUE(has(words.of(advice(AdviceKind::kExpandable, {{"unused_bytes", kGiB}})),
                  "At peak reserved memory, 1.00 GiB of"));
}

TEST(AdviceWords, HoldLessNamesTheHolder) {
  Words words;
  Advice a = advice(AdviceKind::kHoldLess, {{"lacking_bytes", 48 * kMiB},
                                            {"largest_holder_bytes", 2 * kMiB},
                                            {"largest_holder_blocks", 1}});
  a.stack = model::StackId(0);
  EXPECT_EQ(words.of(a),
            "Try a smaller batch, or free or recompute something before this point. The program "
            "must hold at least 48.0 MiB less. The largest holder is a.py:3 take: 2.0 MiB in 1 "
            "block.");
  a.allocator = analysis::AllocatorKind::kDriver;
  EXPECT_TRUE(words.of(a).starts_with("Free something before this point, or request less. "));
}

TEST(AdviceWords, APoolIsNamed) {
  Words words;
  Advice a =
      advice(AdviceKind::kReleasePool,
             {{"pool_free_bytes", 600 * kMiB}, {"pool_live_bytes", 2 * kMiB}, {"pool_blocks", 1}});
  a.pool = model::PoolId(1);
  EXPECT_TRUE(has(words.of(a), "graph pool 3 go")) << words.of(a);
  EXPECT_TRUE(has(words.of(a), "It keeps 600 MiB free"));
  EXPECT_TRUE(has(words.of(a), "2.0 MiB in 1 block live in it"));
}

TEST(AdviceWords, TheLineToCopyKeepsOtherSettings) {
  Words words("max_split_size_mb:64, per_process_memory_fraction:0.5");
  Advice a = advice(AdviceKind::kMemoryFraction, {{"fraction_percent", 50}, {"needed_percent", 55}},
                    "per_process_memory_fraction:0.55");
  EXPECT_EQ(words.copy(a),
            "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,per_process_memory_fraction:0.55");
  Advice b = advice(AdviceKind::kExpandable, {}, "expandable_segments:True");
  EXPECT_EQ(words.copy(b),
            "PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:0.5,expandable_segments:True")
      << "not replayed; max_split_size_mb conflicts";
  b.effect =
      analysis::AdviceEffect{.helps = true, .conf = "expandable_segments:True,backend:native"};
  EXPECT_EQ(words.copy(b), "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,backend:native");
  EXPECT_EQ(words.copy(advice(AdviceKind::kEmptyCache)), "torch.cuda.empty_cache()");
  EXPECT_EQ(words.copy(advice(AdviceKind::kHoldLess)), "");
  EXPECT_EQ(words.copy(advice(AdviceKind::kNotInEffect, {}, "expandable_segments:True")), "");
}

TEST(AdviceWords, TheEffectOfAReplay) {
  Advice a = advice(AdviceKind::kExpandable, {}, "expandable_segments:True");
  EXPECT_FALSE(effectSentence(a, 1, "advice(0)").has_value());
  a.effect = analysis::AdviceEffect{.helps = true,
                                    .ooms_before = 1,
                                    .ooms_after = 0,
                                    .peak_reserved_before_bytes = 4 * kGiB,
                                    .peak_reserved_after_bytes = 3 * kGiB,
                                    .conf = "expandable_segments:True"};
  EXPECT_EQ(
      plainText(effectSentence(a, 1, "advice(0)")->parts),
      "In a replay with this setting, no request fails (one did), and peak reserved memory is "
      "3.00 GiB instead of 4.00 GiB.");
  a.effect->ooms_after = 1;
  a.effect->peak_reserved_after_bytes = 4 * kGiB;
  EXPECT_EQ(plainText(effectSentence(a, 1, "advice(0)")->parts),
            "In a replay with this setting, 1 request fails (one did), and peak reserved memory is "
            "4.00 GiB, as before.");
  a.effect->first_failing_step = 14946;
  a.effect->forecast_from = 14967;
  EXPECT_EQ(plainText(effectSentence(a, 1, "advice(0)")->parts),
            "In a replay with this setting, 1 request fails (one did), that at step 14,946, and "
            "peak reserved memory is 4.00 GiB, as before. From step 14,967 on, this is a forecast: "
            "the file does not show what the program would request next, and that may fail.");
}

// Every kind has words that end with a full stop.
TEST(AdviceWords, EveryKindHasASentence) {
  Words words("garbage_collection_threshold:0.8");
  for (int kind = 0; kind <= static_cast<int>(AdviceKind::kReplayedSetting); ++kind) {
    Advice a = advice(static_cast<AdviceKind>(kind), {}, "max_split_size_mb:64");
    a.step = 3;
    a.pool = model::PoolId(1);
    std::string text = words.of(a);
    EXPECT_TRUE(text.ends_with('.')) << kind << ": " << text;
    EXPECT_FALSE(analysis::name(a.kind).empty());
  }
}

TEST(AdviceWords, ASettingThatHelpsTooLittleIsNotDenied) {
  Words words;
  Advice a = advice(AdviceKind::kNoSettingHelps, {{"lacking_bytes", 48 * kMiB}});
  EXPECT_EQ(words.of(a),
            "No allocator setting helps, because the memory is too small. Even if all free memory "
            "were one range, 48.0 MiB would be missing.");
  a = advice(AdviceKind::kNoSettingHelps, {{"lacking_bytes", 48 * kMiB},
                                           {"settings_that_help_too_little", 2},
                                           {"ooms_before", 4},
                                           {"ooms_after", 3}});
  EXPECT_EQ(words.of(a),
            "No allocator setting helps enough, because the memory is too small. Even if all free "
            "memory were one range, 48.0 MiB would be missing. In a replay, 2 settings let more "
            "requests succeed, but at least 3 of 4 still fail.");
}

TEST(AdviceWords, ALineToCopyIsQuotedForTheShell) {
  EXPECT_EQ(environmentLine("max_split_size_mb:128"),
            "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128");
  EXPECT_EQ(environmentLine("roundup_power2_divisions:[256:1,>:8]"),
            "PYTORCH_CUDA_ALLOC_CONF='roundup_power2_divisions:[256:1,>:8]'");
  EXPECT_EQ(environmentLine("a:$(b)'c"), "PYTORCH_CUDA_ALLOC_CONF='a:$(b)'\\''c'");
}

}  // namespace
}  // namespace tidegauge::report
