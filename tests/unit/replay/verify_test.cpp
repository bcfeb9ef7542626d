// A recording verified: what the trace does not contain, and how it is read.
#include "replay/verify.h"

#include <gtest/gtest.h>

#include "replay/allocator/model_driver.h"
#include "replay/what_if.h"
#include "support/trace_builder.h"

namespace tidegauge::replay {
namespace {

// The allocator's entries, as a trace. Pool 1 is (0, 1), …
class RecordedEntries final : public Listener {
 public:
  void wrote(const Entry& entry) override {
    builder_.event(entry.action, entry.address, entry.bytes);
    owners_.push_back(entry.owner);
  }
  model::Trace build(uint16_t pools = 1) {
    model::Trace trace = builder_.build();
    while (trace.pools.size() < pools)
      trace.pools.push_back({0, static_cast<uint64_t>(trace.pools.size())});
    for (OwnerIndex owner : owners_) trace.events.pool.push_back(model::PoolId(owner));
    return trace;
  }

 private:
  testing::TraceBuilder builder_;
  std::vector<OwnerIndex> owners_;
};

// What a collection releases is not carried into settings without one.
TEST(Verify, ACollectionIsNotAnEmptyCacheOfTheProgram) {
  Settings settings;
  settings.gc_threshold = 0.5;
  settings.fraction = 0.25;
  constexpr uint64_t kDevice = 4096 * kMiB;
  RecordedEntries entries;
  ModelDriver driver(kDevice);
  Allocator allocator(settings, kDevice, driver, entries);
  auto held = allocator.malloc(100 * kMiB, 0, 0);
  for (uint64_t mib : {200ULL, 250ULL, 300ULL, 350ULL})
    if (auto block = allocator.malloc(mib * kMiB, 0, 0)) allocator.free(*block, false);
  allocator.free(*held, false);
  ASSERT_GT(allocator.stats().driver_frees, 0U);
  ASSERT_EQ(allocator.stats().retries, 0U);
  model::Trace trace = entries.build();
  Verification it = verify(trace, trace.devices[0], {settings, kDevice});
  EXPECT_FALSE(it.first_divergence);
  EXPECT_EQ(it.emptied_before_requests, 0U);
  // The same if only the limit is known, and not the device.
  VerifyOptions limited{settings, {}};
  limited.settings.fraction.reset();
  limited.settings.limit_bytes = 1024 * kMiB;
  it = verify(trace, trace.devices[0], limited);
  EXPECT_FALSE(it.first_divergence);
  EXPECT_EQ(it.emptied_before_requests, 0U);
  WhatIfOptions plain;
  Outcome outcome = whatIf(Tape(trace, trace.devices[0]), it.program, plain);
  EXPECT_EQ(outcome.stats.driver_frees, 0U);
}

// Below the threshold nothing is collected, so it was the program.
TEST(Verify, BelowTheThresholdTheProgramEmptiedTheCache) {
  Settings settings;
  settings.gc_threshold = 0.5;
  settings.limit_bytes = 4096 * kMiB;
  RecordedEntries entries;
  ModelDriver driver(8192 * kMiB);
  Allocator allocator(settings, 8192 * kMiB, driver, entries);
  auto block = allocator.malloc(200 * kMiB, 0, 0);
  allocator.free(*block, false);
  allocator.emptyCache();
  EXPECT_TRUE(allocator.malloc(300 * kMiB, 0, 0));
  EXPECT_TRUE(allocator.malloc(400 * kMiB, 0, 0));
  model::Trace trace = entries.build();
  Verification it = verify(trace, trace.devices[0], {settings, {}});
  EXPECT_FALSE(it.first_divergence);
  EXPECT_EQ(it.emptied_before_requests, 1U);
}

// One of two pools has an allocator of its own. Its segments come from cudaMalloc and are split as
// without expandable segments.
TEST(Verify, APoolWithAnAllocatorOfItsOwnIsNotExpandable) {
  Settings settings;
  settings.expandable = true;
  settings.own_allocator_pools = {2};
  RecordedEntries entries;
  ModelDriver driver(uint64_t{1} << 36);
  Allocator allocator(settings, uint64_t{1} << 36, driver, entries);
  std::vector<BlockId> blocks;
  for (OwnerIndex owner : {OwnerIndex{0}, OwnerIndex{1}, OwnerIndex{2}})
    for (uint64_t mib : {30ULL, 12ULL}) {
      auto block = allocator.malloc(mib * kMiB, 0, owner);
      ASSERT_TRUE(block);
      allocator.free(*block, false);
      block = allocator.malloc(mib * kMiB - kMiB / 2, 0, owner);
      ASSERT_TRUE(block);
      blocks.push_back(*block);
    }
  model::Trace trace = entries.build(3);
  settings.own_allocator_pools.clear();
  Verification it = verify(trace, trace.devices[0], {settings, {}});
  EXPECT_FALSE(it.first_divergence);
  EXPECT_EQ(it.settings.own_allocator_pools, std::vector<uint16_t>{2});
  EXPECT_TRUE(it.settings.private_pools_expandable);
}

}  // namespace
}  // namespace tidegauge::replay
