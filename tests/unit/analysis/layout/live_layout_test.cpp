#include "analysis/layout/live_layout.h"

#include <gtest/gtest.h>

#include "support/bytes.h"

namespace tidegauge::analysis {
namespace {

using model::LiveRange;

TEST(LiveLayout, CountsWhatLiesFreeInsideTheFrameworksRanges) {
  std::vector<LiveRange> ranges = {{100 * kMiB, 20 * kMiB, 0, true},
                                   {200 * kMiB, 512 * kMiB, 0, false},  // not of the framework
                                   {900 * kMiB, 2 * kMiB, 0, true},
                                   {990 * kMiB, 2 * kMiB, 1, true}};  // another device
  std::vector<LiveRange> blocks = {{100 * kMiB, 4 * kMiB, 0, true},
                                   {108 * kMiB, 4 * kMiB, 0, true},
                                   {990 * kMiB, kMiB, 1, true}};
  LiveLayout it = liveLayout(ranges, blocks, 0);
  EXPECT_EQ(it.reserved_bytes, 22 * kMiB);
  EXPECT_EQ(it.free_bytes, (4 + 8 + 2) * kMiB);
  EXPECT_EQ(it.request_bytes, 4 * kMiB);
  EXPECT_EQ(it.stranded_bytes, 2 * kMiB);  // the small segment serves no 4 MiB
  EXPECT_NEAR(it.reserved.external, 14.0 / 22, 1e-12);
  EXPECT_NEAR(it.address.utilisation, 534.0 / 802, 1e-12);
}

TEST(LiveLayout, RoundsBlocksButNeverIntoTheNext) {
  std::vector<LiveRange> ranges = {{0x10000, 4096, 0, true}};
  std::vector<LiveRange> blocks = {{0x10000, 1, 0, true},
                                   {0x10200, 700, 0, true},  // 1,024
                                   {0x10700, 300, 0, true},  // odd: another allocator
                                   {0x10780, 100, 0, true},
                                   {0x10f00, 9999, 0, true}};  // sticks out
  LiveLayout it = liveLayout(ranges, blocks, 0);
  // In use: 512 + 1,024 + 128 + 512 + 256.
  EXPECT_EQ(it.free_bytes, 4096U - 512 - 1024 - 128 - 512 - 256);
}

TEST(LiveLayout, IsNothingWhereNothingLives) {
  LiveLayout it = liveLayout({}, {}, 0);
  EXPECT_EQ(it.reserved_bytes, 0U);
  EXPECT_EQ(it.reserved.score, 0);
  std::vector<LiveRange> blocks = {{0x10000, 512, 0, true}};  // in no known range
  EXPECT_EQ(liveLayout({}, blocks, 0).stranded_bytes, 0U);
}

TEST(LiveTrend, ForecastsAndReportsGrowthWithEnoughSamples) {
  LiveTrend trend;
  LayoutScore score;
  score.score = 40;
  EXPECT_FALSE(trend.forecast());
  EXPECT_FALSE(trend.growth());
  for (int i = 0; i < 60; ++i) trend.add(10.0 * i, score, kMiB * static_cast<uint64_t>(i));
  ASSERT_TRUE(trend.forecast());
  EXPECT_NEAR(trend.forecast()->bestPredicted()[2], 40, 0.5);
  EXPECT_NEAR(*trend.growth(), static_cast<double>(kMiB) / 10, 1);
}

TEST(LiveTrend, SawTeethAreNotGrowth) {
  LiveTrend trend;
  for (int i = 0; i < 50; ++i)
    trend.add(10.0 * i, {}, kMiB * static_cast<uint64_t>(100 + i * 7 % 5));
  ASSERT_TRUE(trend.growth());
  EXPECT_EQ(*trend.growth(), 0);
}

}  // namespace
}  // namespace tidegauge::analysis
