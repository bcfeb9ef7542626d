#include "wss/file/suggested_limit.h"

#include <gtest/gtest.h>

#include "unit/wss/made_measurement.h"

namespace tidegauge::wss {
namespace {

TEST(SuggestedLimit, IsTheNinetyNinthOfAHundredAndATenth) {
  Measurement measurement{.head = head("snapshots", 60)};
  for (uint64_t i = 1; i <= 200; ++i)
    measurement.samples.push_back({.row = row(i, 60'000'000'000)});
  SuggestedLimit limit = suggestedLimit(measurement).value();
  EXPECT_EQ(limit.samples, 200U);
  EXPECT_EQ(limit.touched, 198 * kMiB);
  EXPECT_NEAR(static_cast<double>(*limit.bytes), 198 * 1.1 * kMiB, 1);
  EXPECT_NE(limit.text().find("in 99 of 100 windows of 60 s the process touched at most 198 MiB "
                              "(200 windows), plus one tenth"),
            std::string::npos)
      << limit.text();
}

TEST(SuggestedLimit, OfFewerThanAHundredIsTheMost) {
  Measurement measurement{.head = head("snapshots", 60)};
  for (uint64_t i = 1; i <= 99; ++i) measurement.samples.push_back({.row = row(i, 60'000'000'000)});
  SuggestedLimit limit = suggestedLimit(measurement).value();
  EXPECT_EQ(limit.touched, 99 * kMiB);
  EXPECT_NE(limit.text().find(
                "is enough: it is 99.0 MiB, the most of 99 windows of 60 s, plus one tenth"),
            std::string::npos)
      << limit.text();
  EXPECT_EQ(limit.text().find("99 of 100"), std::string::npos);
  measurement.samples.push_back({.row = row(100, 60'000'000'000)});
  limit = suggestedLimit(measurement).value();
  EXPECT_EQ(limit.touched, 99 * kMiB);
  EXPECT_NE(limit.text().find("in 99 of 100 windows"), std::string::npos);
}

// 67 windows of a program that needs 100 MiB and has 64.
TEST(SuggestedLimit, DoesNotFollowFromWindowsWithReclaim) {
  Measurement measurement{.head = head("snapshots", 60)};
  for (uint64_t i = 0; i < 67; ++i) {
    measurement.samples.push_back({.row = row(42, 60'000'000'000)});
    measurement.samples.back().row.meanwhile.is_reclaimed = true;
  }
  SuggestedLimit limit = suggestedLimit(measurement).value();
  EXPECT_FALSE(limit.bytes);
  EXPECT_EQ(
      limit.text(),
      "wss suggests no memory limit, because the kernel reclaimed memory in 67 of 67 windows, "
      "and it is not known how much those touched. Measure with a larger limit, or with "
      "none.");
}

// Touches that are not seen, and what was not flushed, may be any number of bytes more.
TEST(SuggestedLimit, DoesNotFollowFromLowerBounds) {
  Measurement measurement{.head = head("snapshots", 60)};
  for (uint64_t i = 0; i < 67; ++i) {
    measurement.samples.push_back({.row = row(42, 60'000'000'000)});
    if (i % 2 == 0)
      measurement.samples.back().row.meanwhile.unseen.add(Toucher::kKvm);
    else
      measurement.samples.back().row.is_flushed = false;
  }
  SuggestedLimit limit = suggestedLimit(measurement).value();
  EXPECT_FALSE(limit.bytes);
  EXPECT_EQ(limit.text(),
            "wss suggests no memory limit, because the touched memory of 67 of 67 windows is a "
            "lower bound.");
}

// Such a window counts as larger than all others: one of a hundred may exceed the limit.
TEST(SuggestedLimit, AllowsOneWindowWithReclaimInAHundred) {
  Measurement measurement{.head = head("snapshots", 60)};
  for (uint64_t i = 1; i <= 200; ++i)
    measurement.samples.push_back({.row = row(i, 60'000'000'000)});
  auto reclaim = [&](size_t i) { measurement.samples[i].row.meanwhile.is_reclaimed = true; };
  reclaim(0);
  reclaim(1);
  EXPECT_EQ(suggestedLimit(measurement)->touched, 200 * kMiB);
  reclaim(2);
  EXPECT_FALSE(suggestedLimit(measurement)->bytes);
}

TEST(SuggestedLimit, FollowsFromNothingThatGrowsOrIsWritten) {
  Measurement measurement{.head = head("cumulative", 60)};
  EXPECT_FALSE(suggestedLimit(measurement));
  measurement.head.course = "snapshots";
  EXPECT_TRUE(suggestedLimit(measurement));
  measurement.head.tells_writes = true;
  EXPECT_FALSE(suggestedLimit(measurement));
}

TEST(SuggestedLimit, WantsSixtyMinutes) {
  Measurement measurement{.head = head("snapshots", 60)};
  for (int i = 0; i < 59; ++i) measurement.samples.push_back({.row = row(20, 60'000'000'000)});
  EXPECT_FALSE(suggestedLimit(measurement)->bytes);
  EXPECT_NE(suggestedLimit(measurement)->text().find("here are 59"), std::string::npos);
  // Short windows are none, however many.
  for (Measurement::Sample& sample : measurement.samples) sample.row = row(20);
  EXPECT_EQ(suggestedLimit(measurement)->samples, 0U);
}

TEST(SuggestedLimit, SaysHowLongWindowsWere) {
  Measurement measurement{.head = head("snapshots", 600)};
  for (int i = 0; i < 61; ++i) measurement.samples.push_back({.row = row(20, 600'000'000'000)});
  EXPECT_NE(suggestedLimit(measurement)->text().find("the most of 61 windows of 600 s"),
            std::string::npos);
}

TEST(SuggestedLimit, JoinsRollingWindowsAndCountsThemOnce) {
  Measurement measurement{.head = head("rolling", 30)};
  for (int i = 0; i < 120; ++i)
    measurement.samples.push_back({.row = row(4), .rolling = rolling(4)});
  SuggestedLimit limit = suggestedLimit(measurement).value();
  EXPECT_EQ(limit.samples, 60U);
  EXPECT_EQ(limit.touched, 8 * kMiB);
}

}  // namespace
}  // namespace tidegauge::wss
