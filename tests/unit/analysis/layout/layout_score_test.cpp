#include "analysis/layout/layout_score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "support/bytes.h"

namespace tidegauge::analysis {
namespace {

std::vector<LayoutRange> layoutOf(const std::vector<std::pair<uint64_t, uint64_t>>& blocks) {
  std::vector<LayoutRange> ranges;
  for (auto [address, size] : blocks) ranges.push_back({address, address + size});
  return ranges;
}

struct Expected {
  std::string name;
  std::vector<LayoutRange> layout;
  double external, unusable, small, variation, large_gaps, score;
};

std::vector<Expected> table() {
  std::vector<std::pair<uint64_t, uint64_t>> packed_small, packed_large, hole, chequered, tight,
      one_wide, alternating;
  for (uint64_t i = 0; i < 64; ++i) packed_small.emplace_back(i * 2 * kMiB, 2 * kMiB);
  for (uint64_t i = 0; i < 8; ++i) packed_large.emplace_back(i * kGiB, kGiB);
  hole = {{0, kGiB}, {65 * kGiB, kGiB}};
  for (uint64_t i = 0; i < 1000; ++i) chequered.emplace_back(i * 4 * kMiB, 2 * kMiB);
  for (uint64_t i = 0; i < 20; ++i) tight.emplace_back(i * 22 * kMiB, 20 * kMiB);
  for (uint64_t i = 0; i < 100; ++i) {
    one_wide.emplace_back(i * 8 * kMiB + (i >= 50 ? 512 * kMiB : 0), 6 * kMiB);
  }
  for (uint64_t i = 0; i < 50; ++i) {
    alternating.emplace_back(i * 71 * kMiB, kMiB);
    alternating.emplace_back(i * 71 * kMiB + 4 * kMiB, 64 * kMiB);
  }
  return {{"64 × 2 MiB packed", layoutOf(packed_small), 0, 0, 1, 0, 0, 6.00},
          {"8 × 1 GiB packed", layoutOf(packed_large), 0, 0, 0, 0, 0, 0.00},
          {"2 × 1 GiB, 64 GiB hole", layoutOf(hole), 0.969697, 0, 0, 0, 0, 48.484848},
          {"1000 × 2 MiB, 2 MiB holes", layoutOf(chequered), 0.499750, 1, 1, 0, 0, 45.987494},
          {"20 × 20 MiB, 2 MiB holes", layoutOf(tight), 0.086758, 1, 0, 0, 0, 19.337900},
          {"100 × 6 MiB, one hole of 514 MiB", layoutOf(one_wide), 0.541985, 0.726694, 0, 0,
           0.723944, 56.098242},
          {"1 MiB and 64 MiB in turn", layoutOf(alternating), 0.083733, 1, 0.5, 0.969231, 0,
           26.063560}};
}

// Values of an independent script over the same layouts.
TEST(LayoutScore, EqualsTheExpectedValues) {
  for (const Expected& want : table()) {
    LayoutScore got = layoutScore(want.layout);
    EXPECT_NEAR(got.external, want.external, 1e-4) << want.name;
    EXPECT_NEAR(got.unusable, want.unusable, 1e-4) << want.name;
    EXPECT_NEAR(got.small, want.small, 1e-4) << want.name;
    EXPECT_NEAR(got.variation, want.variation, 1e-4) << want.name;
    EXPECT_NEAR(got.large_gaps, want.large_gaps, 1e-4) << want.name;
    EXPECT_NEAR(got.score, want.score, 1e-4) << want.name;
    EXPECT_NEAR(got.utilisation + got.external, 1, 1e-9) << want.name;
  }
}

TEST(LayoutScore, OfNothingIsZero) {
  EXPECT_EQ(layoutScore(std::vector<LayoutRange>{}), LayoutScore());
  EXPECT_EQ(layoutScore({}, {}, 0), LayoutScore());
}

// A segment that is wholly free: half a score, although every byte of it can be returned.
TEST(LayoutScore, WithoutBlocksTheTargetIsOnePage) {
  std::vector<uint64_t> gaps = {20 * kMiB};
  LayoutScore score = layoutScore({}, gaps, 20 * kMiB);
  EXPECT_EQ(score.external, 1);
  EXPECT_EQ(score.unusable, 0);
  EXPECT_EQ(score.score, 50);
}

TEST(LayoutScore, CannotExceedAHundred) {
  // One gap far above the mean, no block worth mentioning.
  std::vector<uint64_t> gaps(100, 1);
  gaps.push_back(1000 * kMiB);
  std::vector<uint64_t> sizes = {1, 1000};
  LayoutScore score = layoutScore(sizes, gaps, 1000 * kMiB, {.alpha = 0.01});
  EXPECT_LE(score.score, 100);
  EXPECT_NEAR(score.external, 1, 1e-3);
  EXPECT_NEAR(score.large_gaps, 1, 1e-3);
}

TEST(LayoutScore, GapsOfNothingAreNone) {
  std::vector<uint64_t> sizes = {kMiB, kMiB};
  std::vector<uint64_t> none = {0, 0};
  EXPECT_EQ(layoutScore(sizes, none, 2 * kMiB), layoutScore(sizes, {}, 2 * kMiB));
}

TEST(LayoutScore, OptionsMoveThePageThePowerAndTheSmallLimit) {
  std::vector<uint64_t> sizes = {3 * kMiB, 3 * kMiB};
  std::vector<uint64_t> gaps = {12 * kMiB};
  // The target is 8 MiB: one of 1.5 fits.
  LayoutScore usual = layoutScore(sizes, gaps, 18 * kMiB);
  EXPECT_NEAR(usual.unusable, std::pow(1.0 / 3, 0.25), 1e-12);
  EXPECT_EQ(usual.small, 1);
  LayoutScore other =
      layoutScore(sizes, gaps, 18 * kMiB, {.page_bytes = 16 * kMiB, .alpha = 1, .small_bytes = 1});
  // The target is one page of 16 MiB, and the gap is less than one.
  EXPECT_EQ(other.unusable, 1);
  EXPECT_EQ(other.small, 0);
}

// The mean is a power of two: ⌈log₂ a⌉ is exact there, and one more just above.
TEST(LayoutScore, TheTargetJumpsAboveAPowerOfTwo) {
  std::vector<uint64_t> gaps = {8 * kMiB};
  std::vector<uint64_t> at = {4 * kMiB, 4 * kMiB};
  std::vector<uint64_t> above = {4 * kMiB, 4 * kMiB + 2};
  EXPECT_EQ(layoutScore(at, gaps, 16 * kMiB).unusable, 0);         // target 8 MiB
  EXPECT_EQ(layoutScore(above, gaps, 16 * kMiB + 2).unusable, 1);  // target 16 MiB
}

TEST(LayoutScore, HugeSizesStayFinite) {
  std::vector<uint64_t> sizes = {UINT64_MAX, UINT64_MAX, 1};
  std::vector<uint64_t> gaps = {UINT64_MAX, 1};
  LayoutScore score = layoutScore(sizes, gaps, UINT64_MAX);
  EXPECT_GE(score.score, 0);
  EXPECT_LE(score.score, 100);
}

TEST(LayoutScore, BandsBeginAtTheirLimit) {
  EXPECT_EQ(name(bandOf(80)), "severe");
  EXPECT_EQ(name(bandOf(79.99)), "moderate");
  EXPECT_EQ(name(bandOf(60)), "moderate");
  EXPECT_EQ(name(bandOf(59.99)), "light");
  EXPECT_EQ(name(bandOf(40)), "light");
  EXPECT_EQ(name(bandOf(39.99)), "low");
}

}  // namespace
}  // namespace tidegauge::analysis
