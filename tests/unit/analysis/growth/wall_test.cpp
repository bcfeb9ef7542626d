#include "analysis/growth/wall.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;

// Steps of 4 temporaries each; each step also leaves `kept` bytes.
AnalysedTrace stepsThatKeep(uint64_t kept, int steps, uint64_t oom_free = 0) {
  TraceBuilder b;
  b.time(1'000'000);
  for (int step = 0; step < steps; ++step) {
    for (uint64_t i = 0; i < 4; ++i) b.alloc(kA + i * 64 * kMiB, 8 * kMiB);
    for (uint64_t i = 0; i < 4; ++i) b.free(kA + i * 64 * kMiB, 8 * kMiB);
    if (kept > 0) b.alloc(2 * kA + static_cast<uint64_t>(step) * 64 * kMiB, kept);
  }
  if (oom_free > 0) b.oom(oom_free, 512 * kMiB);
  return AnalysedTrace(b.build());
}

TEST(Wall, HealthyStepsMeetNoWall) {
  AnalysedTrace trace = stepsThatKeep(0, 100);
  Wall wall = wallOf(trace, *trace.devices[0], 1000 * kMiB);
  ASSERT_TRUE(wall.enough);
  EXPECT_EQ(wall.slices, 160u);
  EXPECT_FALSE(wall.active.grows());
  EXPECT_FALSE(wall.active.events_left);
  EXPECT_EQ(wall.capacity_source, CapacitySource::kGiven);
}

TEST(Wall, ALeakMeetsItWhenItWould) {
  AnalysedTrace trace = stepsThatKeep(kMiB, 100);  // 1 MiB per 13 events
  Wall wall = wallOf(trace, *trace.devices[0], 432 * kMiB);
  ASSERT_TRUE(wall.active.grows());
  EXPECT_NEAR(wall.active.bytes_per_event.slope, kMiB / 13.0, 0.05 * kMiB / 13);
  ASSERT_TRUE(wall.active.events_left);
  EXPECT_NEAR(*wall.active.events_left, 300 * 13, 0.06 * 300 * 13);  // 132 MiB were reached
  EXPECT_LE(*wall.active.events_left_least, *wall.active.events_left);
  EXPECT_GE(*wall.active.events_left_most, *wall.active.events_left);
  ASSERT_TRUE(wall.seconds_per_event);
  EXPECT_NEAR(*wall.seconds_per_event, 1e-6, 1e-9);  // the builder's clock
}

TEST(Wall, AtTheWallNothingIsLeft) {
  AnalysedTrace trace = stepsThatKeep(kMiB, 100);
  EXPECT_EQ(wallOf(trace, *trace.devices[0], 10 * kMiB).active.events_left, 0.0);
}

TEST(Wall, SaysByHowMuchItIsExceeded) {
  AnalysedTrace trace = stepsThatKeep(kMiB, 100);  // 132 MiB at the end
  Wall wall = wallOf(trace, *trace.devices[0], 10 * kMiB);
  EXPECT_EQ(wall.active.excess_bytes, wall.active.now_bytes - 10 * kMiB);
  EXPECT_EQ(wallOf(trace, *trace.devices[0], wall.active.now_bytes).active.excess_bytes,
            std::nullopt);
  EXPECT_EQ(wallOf(trace, *trace.devices[0]).active.excess_bytes, std::nullopt);
}

// 1 MiB per 13 events since step 60 of 100; before, nothing stayed.
TEST(Wall, AfterLateGrowthTheSlopeIsThatOfTheGrowth) {
  TraceBuilder b;
  b.time(1'000'000);
  for (uint64_t step = 0; step < 100; ++step) {
    auto now = static_cast<int64_t>(1'000'000 + (step < 60 ? step * 12 : 720 + (step - 60) * 13));
    b.annotation("step#" + std::to_string(step), now, now + 11);
    b.stack({"work@a.py:1"});
    for (uint64_t i = 0; i < 4; ++i) b.alloc(kA + i * 64 * kMiB, kMiB);
    for (uint64_t i = 0; i < 4; ++i) b.free(kA + i * 64 * kMiB, kMiB);
    if (step >= 60) b.stack({"keep@a.py:2"}).alloc(2 * kA + step * 64 * kMiB, kMiB);
  }
  AnalysedTrace trace(b.build());
  Growth growth = findGrowth(trace, *trace.devices[0]);
  ASSERT_EQ(growth.stacks.size(), 1U);
  ASSERT_TRUE(growth.stacks[0].is_late);
  Wall wall = wallOf(trace, *trace.devices[0], 432 * kMiB, &growth);
  EXPECT_EQ(wall.since_step, growth.stacks[0].since_step);
  EXPECT_NEAR(wall.active.bytes_per_event.slope, kMiB / 13.0, 0.05 * kMiB / 13);
  ASSERT_TRUE(wall.active.events_left);
  EXPECT_NEAR(*wall.active.events_left, 389 * 13, 0.06 * 389 * 13);  // 43 MiB were reached
  EXPECT_EQ(wallOf(trace, *trace.devices[0], 432 * kMiB).since_step, wall.since_step);
  AnalysedTrace steady = stepsThatKeep(kMiB, 100);
  EXPECT_EQ(wallOf(steady, *steady.devices[0], 432 * kMiB).since_step, std::nullopt);
}

// Reserved plus free memory of the driver is no capacity if a MemPool may be unmapped.
TEST(Wall, IsNotStatedIfTheCapacityIsUncertain) {
  auto wall = [](uint64_t first, uint64_t second) {
    TraceBuilder b;
    b.time(1'000'000);
    for (uint64_t i = 0; i < 60; ++i)
      b.segmentAlloc(kA + i * 32 * kMiB, 20 * kMiB).alloc(kA + i * 32 * kMiB, 20 * kMiB);
    b.oom(10 * kMiB, 400 * kMiB);
    for (uint64_t i = 0; i < 60; ++i)
      b.pool(first, second)
          .finalSegment(kA + i * 32 * kMiB, 20 * kMiB)
          .block(20 * kMiB, model::BlockState::kActiveAllocated, 20 * kMiB);
    AnalysedTrace trace(b.build());
    return wallOf(trace, *trace.devices[0]);
  };
  Wall uncertain = wall(0, 1);
  EXPECT_EQ(uncertain.unmapped_bytes, 1200 * kMiB);
  EXPECT_EQ(uncertain.capacity_bytes, 1210 * kMiB);
  ASSERT_TRUE(uncertain.reserved.grows());
  EXPECT_FALSE(uncertain.reserved.events_left);
  Wall certain = wall(0, 0);
  EXPECT_EQ(certain.unmapped_bytes, 0U);
  ASSERT_TRUE(certain.reserved.grows());
  EXPECT_TRUE(certain.reserved.events_left);
}

TEST(Wall, AnOutOfMemoryEventShowsTheCapacity) {
  AnalysedTrace trace = stepsThatKeep(kMiB, 100, 77 * kMiB);
  Wall wall = wallOf(trace, *trace.devices[0]);
  EXPECT_EQ(wall.capacity_source, CapacitySource::kOutOfMemory);
  EXPECT_EQ(wall.capacity_bytes, 77 * kMiB);  // nothing was reserved
  AnalysedTrace healthy = stepsThatKeep(kMiB, 100);
  Wall without = wallOf(healthy, *healthy.devices[0]);
  EXPECT_EQ(without.capacity_source, CapacitySource::kUnknown);
  EXPECT_TRUE(without.active.grows());
  EXPECT_FALSE(without.active.events_left);
}

TEST(Wall, AnOutOfMemoryEventThatSaysNothing) {
  AnalysedTrace trace = stepsThatKeep(kMiB, 100, model::kUnknownBytes);
  EXPECT_FALSE(wallOf(trace, *trace.devices[0]).capacity_bytes);
}

TEST(Wall, TooShortForATrend) {
  AnalysedTrace trace = stepsThatKeep(kMiB, 3);  // 39 events, 9 slices
  EXPECT_FALSE(wallOf(trace, *trace.devices[0], kMiB).enough);
  TraceBuilder empty;
  empty.finalSegment(kA, 2 * kMiB).block(2 * kMiB, model::BlockState::kActiveAllocated);
  AnalysedTrace state_only(empty.build());
  EXPECT_FALSE(wallOf(state_only, *state_only.devices[0], kMiB).enough);
}

TEST(Wall, WithoutTimesThereAreNoSeconds) {
  TraceBuilder b;
  for (uint64_t i = 0; i < 100; ++i) b.alloc(kA + i * kMiB, 512);
  AnalysedTrace trace(b.build());
  Wall wall = wallOf(trace, *trace.devices[0]);
  EXPECT_TRUE(wall.enough);
  EXPECT_FALSE(wall.seconds_per_event);
}

}  // namespace
}  // namespace tidegauge::analysis
