// Samples of sets that are known: right in the mean, and inside the interval as often as that says.
#include "wss/sample.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>

namespace tidegauge::wss {
namespace {

std::vector<uint64_t> tables(size_t count) {
  std::vector<uint64_t> all;
  for (size_t i = 0; i < count; ++i) all.push_back(i * kTable);
  return all;
}

TEST(ChooseSample, APartOfEachTable) {
  std::mt19937_64 random(1);
  Sample sample = chooseSample(tables(1000), 1, random);
  ASSERT_EQ(sample.parts.size(), 1000U);
  for (size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(sample.parts[i].table, i * kTable);
    EXPECT_EQ(sample.parts[i].pages, kSamplePages);
    EXPECT_LE(sample.parts[i].first + kSamplePages, uint32_t{PAGE_TABLE_ENTRIES});
  }
}

TEST(ChooseSample, EveryPageHasTheSameChance) {
  std::mt19937_64 random(2);
  std::vector<int> seen(8 * PAGE_TABLE_ENTRIES);
  constexpr int kRuns = 40'000;
  for (int run = 0; run < kRuns; ++run)
    for (const SamplePart& part : chooseSample(tables(8), 4, random).parts)
      for (uint32_t page = part.first; page < part.first + part.pages; ++page)
        seen[part.table / kPage + page] += 1;
  double wanted = kRuns / 128.0;
  for (int count : seen) EXPECT_NEAR(count, wanted, 6 * std::sqrt(wanted));
}

TEST(ChooseSample, FewTables) {
  std::mt19937_64 random(3);
  EXPECT_TRUE(chooseSample({}, 16, random).parts.empty());
  EXPECT_LE(chooseSample(tables(1), 16, random).parts.size(), 1U);
}

// Of `touched(page)` in 4,096 tables (8 GiB), with one page in 32 × `every`.
struct Outcome {
  double mean = 0, deviation = 0, covered = 0, truth = 0;
};
Outcome outcomeOf(uint32_t every, const std::function<bool(uint64_t page)>& touched) {
  constexpr size_t kTables = 4096;
  constexpr int kRuns = 300;
  Outcome outcome;
  for (uint64_t page = 0; page < kTables * PAGE_TABLE_ENTRIES; ++page)
    outcome.truth += touched(page) ? 1 : 0;
  std::mt19937_64 random(4);
  auto all = tables(kTables);
  double squares = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> values;
    for (const SamplePart& part : chooseSample(all, every, random).parts) {
      double sum = 0;
      for (uint32_t page = part.first; page < part.first + part.pages; ++page)
        sum += touched(part.table / kPage + page) ? PAGE_TABLE_ENTRIES / double{kSamplePages} : 0;
      values.push_back(sum);
    }
    Estimate estimate = estimateOf(values, PAGE_TABLE_ENTRIES, every, 1.0 / 32 / every);
    double off = estimate.total - outcome.truth;
    outcome.mean += estimate.total / kRuns;
    squares += off * off / kRuns;
    outcome.covered += std::abs(off) <= 1.96 * estimate.standard_error + 0.5 ? 1.0 / kRuns : 0;
  }
  outcome.deviation = std::sqrt(squares);
  return outcome;
}

uint64_t scattered(uint64_t page) {
  page = (page ^ (page >> 15)) * 0x9e3779b97f4a7c15;
  return page ^ (page >> 29);
}

TEST(EstimateOf, AContiguousSet) {
  for (uint32_t every : {1, 4, 16}) {
    auto outcome =
        outcomeOf(every, [](uint64_t page) { return page >= 100'003 && page < 228'003; });
    EXPECT_NEAR(outcome.mean, outcome.truth, 0.01 * outcome.truth) << every;
    EXPECT_LE(outcome.deviation, 0.04 * outcome.truth) << every;
    EXPECT_GE(outcome.covered, 0.95) << every;
  }
}

// Pages that lie anywhere: nothing is to be learnt from neighbours, so the error is that of counting
// √(touched ÷ chance), whoever counts: 1.5, 3 and 6 % for 500 MiB.
TEST(EstimateOf, AScatteredSet) {
  for (uint32_t every : {1, 4, 16}) {
    auto outcome = outcomeOf(every, [](uint64_t page) { return scattered(page) % 1000 < 61; });
    double counting = std::sqrt(outcome.truth * (1 - 0.061) * 32 * every);
    EXPECT_NEAR(outcome.mean, outcome.truth, 0.01 * outcome.truth) << every;
    EXPECT_NEAR(outcome.deviation, counting, 0.12 * counting) << every;
    EXPECT_GE(outcome.covered, 0.91) << every;
  }
}

TEST(EstimateOf, NothingAndAll) {
  auto nothing = outcomeOf(1, [](uint64_t) { return false; });
  EXPECT_EQ(nothing.mean, 0);
  auto all = outcomeOf(1, [](uint64_t) { return true; });
  EXPECT_NEAR(all.mean, all.truth, 1);
  EXPECT_EQ(all.deviation, 0);
}

TEST(EstimateOf, IsNeverSurerThanItsGrain) {
  EXPECT_EQ(estimateOf({}, 512, 4, 0.01).total, 0);
  EXPECT_EQ(estimateOf({}, 512, 4, 0.01).standard_error, 1024);
  std::vector<double> none(1000), one{512};
  EXPECT_EQ(estimateOf(none, 512, 4, 0.01).total, 0);
  EXPECT_EQ(estimateOf(none, 512, 4, 0.01).standard_error, 1024);
  EXPECT_EQ(estimateOf(one, 512, 4, 0.01).total, 2048);
  EXPECT_EQ(estimateOf(one, 512, 4, 0.01).standard_error, 1024);
}

// What lies in a fraction of one table is seen rarely, and then as too much: the interval has room for it.
TEST(EstimateOf, ATinySetIsInsideItsInterval) {
  auto outcome = outcomeOf(1, [](uint64_t page) { return page >= 5'000 && page < 5'100; });
  EXPECT_GE(outcome.covered, 0.95);
}

}  // namespace
}  // namespace tidegauge::wss
