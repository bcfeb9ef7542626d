#include "base/threads/parallel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace tidegauge::base {
namespace {

TEST(Parallel, EachIsDoneOnce) {
  for (size_t threads : {0, 1, 2, 7, 100}) {
    std::vector<std::atomic<int>> times(50);
    eachAtOnce(times.size(), threads, [&](size_t i) { ++times[i]; });
    for (const auto& it : times) EXPECT_EQ(it, 1);
  }
  eachAtOnce(0, 4, [](size_t) { FAIL(); });
}

TEST(Parallel, BothAreDone) {
  for (bool is_worth_it : {false, true}) {
    int first = 0, second = 0;
    together(
        is_worth_it, [&] { first = 1; }, [&] { second = 2; });
    EXPECT_EQ(first + second, 3);
  }
}

TEST(Parallel, AnExceptionArrivesAfterAllHaveEnded) {
  std::atomic<int> ended = 0;
  auto fails = [&] { throw std::length_error("no"); };
  auto ends = [&] { ++ended; };
  EXPECT_THROW(together(true, fails, ends), std::length_error);
  EXPECT_THROW(together(true, ends, fails), std::length_error);
  EXPECT_EQ(ended, 2);
  EXPECT_THROW(eachAtOnce(100, 4,
                          [&](size_t i) {
                            if (i == 3) throw std::length_error("no");
                          }),
               std::length_error);
}

}  // namespace
}  // namespace tidegauge::base
