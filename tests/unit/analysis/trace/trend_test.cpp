#include "analysis/trace/trend.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tidegauge::analysis {
namespace {

using Values = std::vector<double>;

Values countUp(size_t n) {
  Values x(n);
  std::iota(x.begin(), x.end(), 0.0);
  return x;
}

// Expected values: scipy 1.15, stats.theilslopes(y, x, alpha=0.9) and the textbook formula of S
// with ties and continuity correction, p from stats.norm.
TEST(Trend, KnownSeries) {
  Values y = {1, 2, 4, 3, 5};
  Slope slope = theilSen(countUp(5), y);
  EXPECT_DOUBLE_EQ(slope.slope, 1.0);
  EXPECT_DOUBLE_EQ(slope.low, 0.5);
  EXPECT_DOUBLE_EQ(slope.high, 2.0);
  MannKendall test = mannKendall(y);
  EXPECT_EQ(test.s, 8);
  EXPECT_NEAR(test.z, 1.7146428199482247, 1e-12);
  EXPECT_NEAR(test.p, 0.0864107329737, 1e-12);
}

TEST(Trend, UnequalDistancesAndTies) {
  Values x = {0, 1, 2, 4, 5, 6, 8, 9, 10, 13, 14, 15};
  Values y = {3, 5, 5, 9, 8, 12, 11, 11, 14, 19, 18, 25};
  Slope slope = theilSen(x, y);
  EXPECT_DOUBLE_EQ(slope.slope, 1.1180555555555556);
  EXPECT_DOUBLE_EQ(slope.low, 1.0);
  EXPECT_DOUBLE_EQ(slope.high, 1.4545454545454546);
  MannKendall test = mannKendall(y);
  EXPECT_EQ(test.s, 56);
  EXPECT_NEAR(test.z, 3.789350500440659, 1e-12);
  EXPECT_NEAR(test.p, 0.00015104167743936332, 1e-15);
}

TEST(Trend, ManyTies) {
  Values y = {7, 7, 7, 8, 9, 9, 6, 5, 5, 5, 10, 12, 12, 13};
  Slope slope = theilSen(countUp(14), y);
  EXPECT_DOUBLE_EQ(slope.slope, 0.42857142857142855);
  EXPECT_DOUBLE_EQ(slope.low, 0.0);
  EXPECT_DOUBLE_EQ(slope.high, 0.5);
  MannKendall test = mannKendall(y);
  EXPECT_EQ(test.s, 29);
  EXPECT_NEAR(test.p, 0.12000419438749955, 1e-12);
}

TEST(Trend, NothingToTest) {
  EXPECT_EQ(theilSen({}, {}).points, 0u);
  EXPECT_EQ(theilSen(Values{1}, Values{7}).slope, 0.0);
  EXPECT_EQ(mannKendall({}).p, 1.0);
  EXPECT_EQ(mannKendall(Values(20, 3.0)).p, 1.0);
  EXPECT_EQ(mannKendall(Values(20, 3.0)).s, 0);
  Slope upright = theilSen(Values{2, 2, 2}, Values{1, 5, 9});  // no two different x
  EXPECT_EQ(upright.slope, 0.0);
  EXPECT_FALSE(upright.rises());
}

TEST(Trend, FallingIsTheMirrorOfRising) {
  Values y = {9, 7, 8, 5, 4, 4, 2, 1};
  Values mirrored(y.rbegin(), y.rend());
  EXPECT_EQ(mannKendall(y).s, -mannKendall(mirrored).s);
  EXPECT_DOUBLE_EQ(theilSen(countUp(8), y).slope, -theilSen(countUp(8), mirrored).slope);
}

TEST(Trend, ManyPointsAreThinnedAndKeepTheirSlope) {
  Values x = countUp(50'000);
  Values y;
  for (double at : x) y.push_back(100 + 3 * at + 40 * std::sin(at));
  Slope slope = theilSen(x, y);
  EXPECT_EQ(slope.points, kMaxSlopePoints);
  EXPECT_NEAR(slope.slope, 3, 0.001);
  EXPECT_TRUE(slope.rises());
}

// Two and a half teeth: if neighbours counted as independent, this would be a rise.
TEST(Trend, HalfAToothMoreIsNotATrend) {
  for (double teeth : {2.5, 3.3, 3.5, 4.5, 7.5, 10.5, 20.5}) {
    Values x = countUp(200);
    Values y;
    for (double at : x) y.push_back(std::fmod(at * teeth / 200, 1.0));
    EXPECT_FALSE(theilSen(x, y, Neighbours::kAlikeNeighbours).rises()) << teeth;
    for (size_t i = 0; i < y.size(); ++i) y[i] += 0.02 * x[i];
    EXPECT_TRUE(theilSen(x, y, Neighbours::kAlikeNeighbours).rises()) << teeth;
  }
  Values two_and_a_half;
  for (double at : countUp(200)) two_and_a_half.push_back(std::fmod(at * 2.5 / 200, 1.0));
  EXPECT_TRUE(theilSen(countUp(200), two_and_a_half).rises());
}

TEST(Trend, IndependentNoiseIsNotWidenedMuch) {
  Values y;
  uint64_t state = 1;
  for (int i = 0; i < 400; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    y.push_back(static_cast<double>(state >> 40));
  }
  EXPECT_LT(varianceInflation(countUp(400), y, 0), 1.3);
  EXPECT_EQ(varianceInflation(countUp(400), Values(400, 1.0), 0), 1.0);
}

RC_GTEST_PROP(TrendTwin, CountsAsPairByPair, ()) {
  auto small = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-6, 7));
  Values y(small.begin(), small.end());
  int64_t s = 0;
  std::vector<double> slopes;
  for (size_t i = 0; i < y.size(); ++i) {
    for (size_t k = i + 1; k < y.size(); ++k) {
      s += y[k] > y[i] ? 1 : y[k] < y[i] ? -1 : 0;
      slopes.push_back((y[k] - y[i]) / static_cast<double>(k - i));
    }
  }
  RC_ASSERT(y.empty() || mannKendall(y).p == 1.0 || mannKendall(y).s == s);
  if (slopes.empty()) return;
  std::sort(slopes.begin(), slopes.end());
  double median = (slopes[(slopes.size() - 1) / 2] + slopes[slopes.size() / 2]) / 2;
  Slope slope = theilSen(countUp(y.size()), y);
  RC_ASSERT(std::abs(slope.slope - median) < 1e-9);
  RC_ASSERT(slope.low <= slope.slope && slope.slope <= slope.high);
}

}  // namespace
}  // namespace tidegauge::analysis
