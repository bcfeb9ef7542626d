// Samples of known sets: unbiased on average, and inside the interval as often as it states.
#include "wss/sample/sample.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

namespace tidegauge::wss {
namespace {

TableRuns tables(size_t count) {
  TableRuns all;
  all.add(0, count * kTable);
  return all;
}

TEST(ChooseSample, OneOfEachFewTables) {
  std::mt19937_64 random(7);
  std::vector<int> places(8);
  for (int run = 0; run < 1000; ++run) {
    Sample sample = chooseSample(tables(800), {8, 32}, random);
    ASSERT_EQ(sample.size(), 100U);
    for (size_t i = 0; i < 100; ++i) {
      ASSERT_EQ(sample[i].table / kTable / 8, i);
      places[sample[i].table / kTable % 8] += 1;
    }
  }
  for (int count : places) EXPECT_NEAR(count, 12'500, 700);
}

TEST(ChooseSample, APartOfEachTable) {
  std::mt19937_64 random(1);
  Sample sample = chooseSample(tables(1000), {1, 16}, random);
  ASSERT_EQ(sample.size(), 1000U);
  for (size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(sample[i].table, i * kTable);
    EXPECT_EQ(sample[i].pages, 16U);
    EXPECT_LE(sample[i].first + 16, uint32_t{PAGE_TABLE_ENTRIES});
  }
}

TEST(ChooseSample, EveryPageHasTheSameChance) {
  std::mt19937_64 random(2);
  std::vector<int> seen(8 * PAGE_TABLE_ENTRIES);
  constexpr int kRuns = 40'000;
  for (int run = 0; run < kRuns; ++run)
    for (const SamplePart& part : chooseSample(tables(8), {4, 16}, random))
      for (uint32_t page = part.first; page < part.first + part.pages; ++page)
        seen[part.table / kPage + page] += 1;
  double wanted = kRuns / 128.0;
  for (int count : seen) EXPECT_NEAR(count, wanted, 6 * std::sqrt(wanted));
}

TEST(ChooseSample, FewTables) {
  std::mt19937_64 random(3);
  EXPECT_TRUE(chooseSample({}, {16, 32}, random).empty());
  EXPECT_LE(chooseSample(tables(1), {16, 32}, random).size(), 1U);
}

// Those that are offered.
const SampleRate kRates[] = {*rateOf("1/32"), *rateOf("1/128"), *rateOf("1/512")};

// The result for `touched(page)` in 4,096 tables (8 GiB).
struct Outcome {
  double mean = 0, deviation = 0, covered = 0, truth = 0;
};
Outcome outcomeOf(SampleRate rate, const std::function<bool(uint64_t page)>& touched) {
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
    for (const SamplePart& part : chooseSample(all, rate, random)) {
      double sum = 0;
      for (uint32_t page = part.first; page < part.first + part.pages; ++page)
        sum += touched(part.table / kPage + page) ? PAGE_TABLE_ENTRIES / double(rate.pages) : 0;
      values.push_back(sum);
    }
    double half = halfIntervalOf(values, PAGE_TABLE_ENTRIES, rate.every, 1.0 / rate.oneIn());
    double total = rate.every * std::accumulate(values.begin(), values.end(), 0.0);
    double off = total - outcome.truth;
    outcome.mean += total / kRuns;
    squares += off * off / kRuns;
    outcome.covered += std::abs(off) <= half + 0.5 ? 1.0 / kRuns : 0;
  }
  outcome.deviation = std::sqrt(squares);
  return outcome;
}

uint64_t scattered(uint64_t page) {
  page = (page ^ (page >> 15)) * 0x9e3779b97f4a7c15;
  return page ^ (page >> 29);
}

TEST(HalfIntervalOf, AContiguousSet) {
  for (SampleRate rate : kRates) {
    auto outcome = outcomeOf(rate, [](uint64_t page) { return page >= 100'003 && page < 228'003; });
    EXPECT_NEAR(outcome.mean, outcome.truth, 0.01 * outcome.truth) << rate.oneIn();
    EXPECT_LE(outcome.deviation, 0.04 * outcome.truth) << rate.oneIn();
    EXPECT_GE(outcome.covered, 0.95) << rate.oneIn();
  }
}

// Scattered pages: neighbours give no information, so the error is that of counting √(touched ÷
// chance) for any method: 1.5, 3 and 6 % for 500 MiB.
TEST(HalfIntervalOf, AScatteredSet) {
  for (SampleRate rate : kRates) {
    auto outcome = outcomeOf(rate, [](uint64_t page) { return scattered(page) % 1000 < 61; });
    double counting = std::sqrt(outcome.truth * (1 - 0.061) * rate.oneIn());
    EXPECT_NEAR(outcome.mean, outcome.truth, 0.01 * outcome.truth) << rate.oneIn();
    EXPECT_NEAR(outcome.deviation, counting, 0.12 * counting) << rate.oneIn();
    EXPECT_GE(outcome.covered, 0.91) << rate.oneIn();
  }
}

// A stack of 8 MiB for each of 1,024 threads, of which each uses 2 MiB; arenas of 64 MiB in which
// one table is in use: a fixed step would meet all of them or none, and be sure of it.
TEST(HalfIntervalOf, ASetThatRepeatsItself) {
  for (SampleRate rate : kRates)
    for (uint64_t every : {4, 8, 16, 32}) {
      SCOPED_TRACE(testing::Message() << rate.oneIn() << ", each " << every << "th table");
      auto outcome = outcomeOf(
          rate, [&](uint64_t page) { return page / PAGE_TABLE_ENTRIES % every == every - 1; });
      EXPECT_NEAR(outcome.mean, outcome.truth, 0.08 * outcome.truth);
      EXPECT_GE(outcome.covered, 0.88);
    }
}

// A few pieces anywhere: 50 of 256 KiB, 12 of 2 MiB. Most samples meet few of them.
TEST(HalfIntervalOf, AFewPieces) {
  for (SampleRate rate : kRates)
    for (uint64_t pages : {64, 512}) {
      SCOPED_TRACE(testing::Message() << rate.oneIn() << ", pieces of " << pages);
      uint64_t one_in = pages == 64 ? 655 : 341;
      auto outcome =
          outcomeOf(rate, [&](uint64_t page) { return scattered(page / pages) % one_in == 7; });
      EXPECT_GE(outcome.covered, 0.93);
    }
}

TEST(HalfIntervalOf, NothingAndAll) {
  for (SampleRate rate : kRates) {
    auto nothing = outcomeOf(rate, [](uint64_t) { return false; });
    EXPECT_EQ(nothing.mean, 0);
    auto all = outcomeOf(rate, [](uint64_t) { return true; });
    EXPECT_NEAR(all.mean, all.truth, 1);
    EXPECT_EQ(all.deviation, 0);
  }
}

TEST(HalfIntervalOf, IsNeverSurerThanItsGrain) {
  std::vector<double> none(1000), one{512}, few(1000), many(1000);
  EXPECT_EQ(halfIntervalOf({}, 512, 4, 0.01), 4 * 512);
  EXPECT_EQ(halfIntervalOf(one, 512, 4, 0.01), 2 * 4 * 512);
  EXPECT_EQ(halfIntervalOf(none, 512, 4, 0.01), 3 * 4 * 512);
  few[500] = 1;
  EXPECT_EQ(halfIntervalOf(few, 512, 4, 0.01), 3 * 4 * 512);
  for (size_t i = 100; i < 900; ++i) many[i] = 512;  // two borders: √2 of what one value stands for
  EXPECT_NEAR(halfIntervalOf(many, 512, 4, 0.01), 1.96 * 4 * 512, 25);
  std::vector<double> all(1000, 512);
  EXPECT_EQ(halfIntervalOf(all, 512, 4, 0.01), 1.96 * 4 * 512 / 2);
}

// A set in a fraction of one table is rarely seen, and then overestimated: the interval includes
// it.
TEST(HalfIntervalOf, ATinySetIsInsideItsInterval) {
  for (SampleRate rate : kRates) {
    auto outcome = outcomeOf(rate, [](uint64_t page) { return page >= 5'000 && page < 5'100; });
    EXPECT_GE(outcome.covered, 0.95);
  }
}

}  // namespace
}  // namespace tidegauge::wss
