// The meaning of counts. Counting needs a processor with counters, which few virtual ones have.
#include "wss/surveys/pmc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tidegauge::wss {
namespace {

using testing::HasSubstr;
using testing::Not;

Machine machine() {
  Machine machine;
  machine.l3_bytes = 32U << 20;
  return machine;
}

TEST(Pmc, SaysWhetherTheLastCacheHoldsIt) {
  CacheCounts counts{.cycles = 2e9, .instructions = 3e9, .l1 = {1e9, 5e7}, .last = {5e7, 1e5}};
  EXPECT_DOUBLE_EQ(*counts.l1.hitPercent(), 95);
  EXPECT_THAT(
      sentencesOf(counts, 1, machine()),
      HasSubstr("50.0 million accesses per second reach the last cache (32.0 MiB), and 99.8 % of "
                "them hit. The lines that a thread uses fit in it."));
  counts.last.misses = 2e7;
  EXPECT_THAT(sentencesOf(counts, 1, machine()), HasSubstr("do not all fit"));
  EXPECT_THAT(sentencesOf(counts, 1, machine()), HasSubstr("60.0 % of them hit"));
}

TEST(Pmc, AFewLooksSayNothingOfACache) {
  CacheCounts counts{.cycles = 2e9, .instructions = 3e9, .l1 = {1e9, 1e5}, .last = {1e5, 9e4}};
  EXPECT_THAT(sentencesOf(counts, 1, machine()), HasSubstr("Almost no access reaches"));
  counts.instructions = 0;
  EXPECT_THAT(sentencesOf(counts, 1, machine()), HasSubstr("did not run"));
  EXPECT_THAT(sentencesOf({}, 1, machine()), HasSubstr("do not show"));
  EXPECT_FALSE(CacheCounts::Level{}.hitPercent().has_value());
  EXPECT_DOUBLE_EQ(*(CacheCounts::Level{10, 20}.hitPercent()), 0);  // scaled by turns
}

TEST(Pmc, AmdReportsTheSecondCache) {
  CacheCounts counts{.cycles = 2e9, .instructions = 3e9, .l1 = {1e9, 5e7}, .l2 = {5e7, 2e7}};
  Machine amd = machine();
  amd.l2_bytes = 1U << 20;
  EXPECT_THAT(sentencesOf(counts, 1, amd),
              HasSubstr("reach the second cache (1.0 MiB), and 60.0 % of them hit"));
  EXPECT_THAT(sentencesOf(counts, 1, amd), Not(HasSubstr("last cache")));
}

// Two threads' cycles. Counting in turns before the window does not affect the counts in it.
TEST(Pmc, ScalesWhatWasCountedBetweenTwoLooks) {
  std::vector<Count> before{{0, 1000, 100, 10}, {0, 500, 100, 100}, {1, 8, 100, 100}};
  std::vector<Count> now{{0, 1300, 200, 60}, {0, 600, 200, 200}, {1, 8, 100, 100}};
  CacheCounts counts = countsBetween(before, now);
  EXPECT_DOUBLE_EQ(*counts.cycles, 300 * 100.0 / 50 + 100);
  EXPECT_DOUBLE_EQ(*counts.instructions, 0);
  EXPECT_DOUBLE_EQ(counts.watched, 150.0 / 200);
  EXPECT_FALSE(counts.l1.looks.has_value());
  // It never ran in the window: nothing is known, and nothing is made up.
  std::vector<Count> idle{{0, 1000, 200, 10}, {0, 500, 100, 100}, {1, 8, 100, 100}};
  EXPECT_DOUBLE_EQ(*countsBetween(before, idle).cycles, 0);
  EXPECT_DOUBLE_EQ(countsBetween(before, idle).watched, 0);
}

TEST(Pmc, HereOrWhyNot) {
  auto process = Process::open(getpid());
  ASSERT_TRUE(process.ok());
  auto here = Pmc::check();
  auto opened = Pmc::open(process.value());
  EXPECT_EQ(here.ok(), opened.ok());
  if (here.ok()) return;
  EXPECT_EQ(here.error().kind, base::ErrorKind::kMissingFeature);
  EXPECT_FALSE(here.error().hint.empty());
}

}  // namespace
}  // namespace tidegauge::wss
