// Settings as PYTORCH_CUDA_ALLOC_CONF has them, and what they make of a size.
#include "replay/allocator/settings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tidegauge::replay {
namespace {

Settings of(std::string_view conf) {
  auto settings = parseConf(conf);
  EXPECT_TRUE(settings.ok()) << conf;
  return settings.ok() ? settings.value() : Settings{};
}

TEST(Settings, AreReadAsPyTorchReadsThem) {
  Settings plain = of("");
  EXPECT_EQ(plain.max_split_bytes, kUnlimited);
  EXPECT_FALSE(plain.expandable);
  EXPECT_EQ(plain.large_segment_bytes, 20 * kMiB);
  Settings all =
      of("expandable_segments:True, max_split_size_mb : 128,garbage_collection_threshold:0.8,"
         "per_process_memory_fraction:0.5,backend:native");
  EXPECT_TRUE(all.expandable);
  EXPECT_EQ(all.max_split_bytes, 128 * kMiB);
  EXPECT_DOUBLE_EQ(all.gc_threshold, 0.8);
  EXPECT_DOUBLE_EQ(*all.fraction, 0.5);
  // It is read first, wherever it is, since others are checked against it.
  Settings large = of("max_split_size_mb:30,large_segment_size_mb:30");
  EXPECT_EQ(large.large_segment_bytes, 30 * kMiB);
  EXPECT_EQ(large.max_non_split_rounding_bytes, 30 * kMiB);
}

TEST(Settings, AListOfDivisionsFillsItsClasses) {
  Settings list = of("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]");
  for (size_t i = 0; i <= 8; ++i) EXPECT_EQ(list.roundup_divisions[i], 1U) << i;
  EXPECT_EQ(list.roundup_divisions[9], 2U);
  EXPECT_EQ(list.roundup_divisions[10], 4U);
  for (size_t i = 11; i < 16; ++i) EXPECT_EQ(list.roundup_divisions[i], 8U) << i;
  Settings gap = of("roundup_power2_divisions:[4:2,32:4]");
  EXPECT_EQ(gap.roundup_divisions[2], 2U);
  EXPECT_EQ(gap.roundup_divisions[3], 0U);  // between two that are named
  EXPECT_EQ(gap.roundup_divisions[5], 4U);
  EXPECT_EQ(gap.roundup_divisions[6], 0U);
}

TEST(Settings, WhatPyTorchWouldRefuseIsRefusedByName) {
  for (std::string_view conf : {"max_split_size_mb",
                                "max_split_size_mb:",
                                "max_split_size_mb:19",
                                "max_split_size_mb:-1",
                                "max_split_size_mb:99999999999999999999",
                                "roundup_power2_divisions:3",
                                "roundup_power2_divisions:[256:3]",
                                "roundup_power2_divisions:[256:2",
                                "roundup_power2_divisions:[:]",
                                "garbage_collection_threshold:1.5",
                                "garbage_collection_threshold:nan",
                                "garbage_collection_threshold:0",
                                "expandable_segments:true",
                                "expandable_segments:1",
                                "per_process_memory_fraction:1.1",
                                "large_segment_size_mb:10",
                                "no_such_key:1",
                                "backend:cudaMallocAsync",
                                "throw_on_cudamalloc_oom:True",
                                "expandable_segments_reserve:0.5",
                                ":",
                                ",",
                                "]:["}) {
    auto refused = parseConf(conf);
    ASSERT_FALSE(refused.ok()) << conf;
    EXPECT_EQ(refused.error().kind, base::ErrorKind::kUsage) << conf;
    EXPECT_FALSE(refused.error().hint.empty()) << conf;
  }
}

// PyTorch accepted a recording's own string: an unknown part hides nothing else.
TEST(Settings, TheKnownPartsOfARecordingsStringAreUsed) {
  Settings told = settingsIn(
      "expandable_segments_reserve:0.5,large_segment_size_mb:40,pinned_new_key:1,"
      "garbage_collection_threshold:0.5,max_split_size_mb:5,backend:native");
  EXPECT_EQ(told.large_segment_bytes, 40 * kMiB);
  EXPECT_EQ(told.gc_threshold, 0.5);
  EXPECT_EQ(told.max_split_bytes, kUnlimited);
  EXPECT_EQ(settingsIn("]:["), Settings());
  EXPECT_TRUE(parseConf("pinned_new_key:1,backend:native").ok());
}

// 64 KB of invented pairs: each is read once, and the kept ones are bounded.
TEST(Settings, ALongStringTakesNoTime) {
  std::string conf;
  for (int i = 0; i < 200'000; ++i) conf += "a:1,";
  EXPECT_LE(settingsIn(conf).not_simulated.size(), 100U);
}

TEST(Settings, ARefusedValueOfARecordingGivesWay) {
  Settings own = settingsIn("max_split_size_mb:5,some_key:1");
  EXPECT_EQ(confOf(own), "max_split_size_mb:5,some_key:1");
  own.max_split_bytes = 64 * kMiB;
  EXPECT_EQ(confOf(own), "max_split_size_mb:64,some_key:1");
}

TEST(Settings, AHugeLimitIsTheLargest) {
  EXPECT_EQ(of("max_split_size_mb:9223372036854775807").max_split_bytes,
            of("max_split_size_mb:8796093022208").max_split_bytes);
}

TEST(Settings, RoundsRequestsToBlocks) {
  Settings plain;
  EXPECT_EQ(plain.roundedBytes(1), 512U);
  EXPECT_EQ(plain.roundedBytes(513), 1024U);
  Settings eighths = of("roundup_power2_divisions:8");
  EXPECT_EQ(eighths.roundedBytes(4096), 4096U);  // 512 × 8: below, in steps of 512
  EXPECT_EQ(eighths.roundedBytes(kMiB), kMiB);   // a power of two stays
  EXPECT_EQ(eighths.roundedBytes(kMiB + 1), kMiB + kMiB / 8);
  EXPECT_EQ(eighths.roundedBytes(1200 * kMiB), 1280 * kMiB);
  EXPECT_EQ(eighths.segmentBytes(kMiB), 2 * kMiB);
  EXPECT_EQ(eighths.segmentBytes(kMiB + 512), 20 * kMiB);
  EXPECT_EQ(eighths.segmentBytes(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(eighths.segmentBytes(10 * kMiB + 512), 12 * kMiB);
}

TEST(Settings, OnlyAFractionBelowOneIsACap) {
  Settings settings;
  EXPECT_EQ(settings.capBytes(1000), kUnlimited);
  settings.fraction = 1.0;
  EXPECT_EQ(settings.capBytes(1000), kUnlimited);
  settings.gc_needs_fraction_below_1 = false;  // 2.4
  EXPECT_EQ(settings.capBytes(1000), 1000U);
  settings.fraction = 0.5;
  EXPECT_EQ(settings.capBytes(1000), 500U);
}

TEST(Settings, AreWrittenAsTheyAreRead) {
  EXPECT_EQ(confOf(Settings{}), "");
  for (std::string_view conf :
       {"expandable_segments:True", "max_split_size_mb:128,garbage_collection_threshold:0.8",
        "roundup_power2_divisions:8", "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
        "roundup_power2_divisions:[4:2,32:4]", "roundup_power2_divisions:[1:2,>:4]",
        "roundup_power2_divisions:[4:2,32:4,>:8]", "roundup_power2_divisions:[1:0,2:8,>:0]",
        "roundup_power2_divisions:[16384:0,>:2]",
        "large_segment_size_mb:32,max_split_size_mb:64,max_non_split_rounding_mb:40",
        "per_process_memory_fraction:0.95"}) {
    EXPECT_TRUE(of(confOf(of(conf))) == of(conf)) << conf << " → " << confOf(of(conf));
  }
  EXPECT_EQ(confOf(of("per_process_memory_fraction:0.5"), 0.5), "");
}

RC_GTEST_PROP(SettingsProperty, AnyDivisionsAreWrittenAsTheyAreRead, ()) {
  Settings settings;
  for (uint32_t& it : settings.roundup_divisions) it = *rc::gen::element(0U, 1U, 2U, 4U, 8U);
  auto read = parseConf(confOf(settings));
  RC_ASSERT(read.ok());
  RC_ASSERT(read.value() == settings);
}

}  // namespace
}  // namespace tidegauge::replay
