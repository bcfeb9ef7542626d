#include "record/kernel/even_clock.h"

#include <gtest/gtest.h>

namespace tidegauge::record {
namespace {

uint64_t wall_ns = 0, monotonic_ns = 0;
uint64_t readMade(clockid_t clock) { return clock == CLOCK_REALTIME ? wall_ns : monotonic_ns; }

TEST(EvenClock, AStepOfTheWallClockIsNotFollowed) {
  wall_ns = 1'700'000'000'000'000'000;
  monotonic_ns = 5'000'000'000;
  EvenClock clock(readMade);
  EXPECT_EQ(clock.now_ns(), 1'700'000'000'000'000'000);
  for (int64_t step_ns : {int64_t{-3'600'000'000'000}, int64_t{7'200'000'000'000}}) {
    int64_t before_ns = clock.now_ns();
    wall_ns += static_cast<uint64_t>(step_ns);
    monotonic_ns += 1'000'000;
    EXPECT_EQ(clock.now_ns() - before_ns, 1'000'000);
  }
  EXPECT_EQ(clock.of_ns(6'000'000'000), 1'700'000'001'000'000'000);
}

TEST(EvenClock, WhatTheKernelReadIsTheSameTime) {
  const EvenClock& clock = evenClock();
  int64_t before_ns = clock.now_ns();
  int64_t seen_ns = clock.ofKernel_ns(clock.kernelNow_ns());
  EXPECT_LE(before_ns, seen_ns);
  EXPECT_LE(seen_ns, clock.now_ns());
}

}  // namespace
}  // namespace tidegauge::record
