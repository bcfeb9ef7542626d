// A limit that no file contains, inferred from its effects.
#include "replay/limit.h"

#include <gtest/gtest.h>

#include "replay/allocator/model_driver.h"
#include "support/trace_builder.h"

namespace tidegauge::replay {
namespace {

// The allocator's entries, as a trace.
class Recorder final : public Listener {
 public:
  void wrote(const Entry& entry) override {
    builder.event(entry.action, entry.address, entry.bytes);
  }
  testing::TraceBuilder builder;
};

// Blocks of increasing sizes, each freed before the next: the cache grows until something releases
// it.
model::Trace grown(const Settings& settings, uint64_t device_bytes, int rounds) {
  Recorder recorder;
  ModelDriver driver(device_bytes);
  Allocator allocator(settings, device_bytes, driver, recorder);
  std::optional<BlockId> held = allocator.malloc(20 * kMiB, 0, 0);
  for (int i = 0; i < rounds; ++i) {
    auto block = allocator.malloc((12 + 14 * uint64_t(i % 17)) * kMiB, 0, 0);
    if (block) allocator.free(*block, false);
  }
  allocator.free(*held, false);
  return recorder.builder.build();
}

struct Found {
  Verification verified;
  std::optional<uint64_t> limit_bytes, most_bytes;
};

Found find(const model::Trace& trace, const Settings& told, uint64_t most_reserved_bytes) {
  VerifyOptions options{told, {}};
  Found found{verify(trace, trace.devices[0], options), {}, {}};
  if (auto limit = limitOf(trace, trace.devices[0], options, found.verified, most_reserved_bytes)) {
    found.limit_bytes = limit->least_bytes;
    found.most_bytes = limit->most_bytes;
  }
  return found;
}

uint64_t mostReserved(const model::Trace& trace) {
  uint64_t now = 0, most = 0;
  for (size_t row = 0; row < trace.events.size(); ++row) {
    if (trace.events.action[row] == model::Action::kSegmentAlloc)
      now += trace.events.size_bytes[row];
    if (trace.events.action[row] == model::Action::kSegmentFree)
      now -= trace.events.size_bytes[row];
    most = std::max(most, now);
  }
  return most;
}

TEST(Limit, WhatGarbageWasCollectedUnderIsFoundToASegment) {
  constexpr uint64_t kDevice = 4096 * kMiB;
  for (double fraction : {0.15, 0.21, 0.4}) {
    Settings told, real;
    told.gc_threshold = real.gc_threshold = 0.6;
    real.fraction = fraction;
    model::Trace trace = grown(real, kDevice, 200);
    Found found = find(trace, told, mostReserved(trace));
    ASSERT_TRUE(found.verified.first_divergence)
        << fraction;  // without a limit nothing is collected
    ASSERT_TRUE(found.limit_bytes) << fraction;
    // With it, every event is explained. With less by a segment, not every event is.
    VerifyOptions options{told, {}};
    options.settings.limit_bytes = found.limit_bytes;
    Verification again = verify(trace, trace.devices[0], options);
    EXPECT_EQ(again.events_exact, trace.events.size()) << fraction;
    EXPECT_LE(*found.limit_bytes, real.capBytes(kDevice));
    options.settings.limit_bytes = *found.limit_bytes - kMiB;
    EXPECT_TRUE(verify(trace, trace.devices[0], options).first_divergence) << fraction;
  }
}

// Under a tenth of 4 GiB: the cache is flushed repeatedly without a visible reason; a request of
// 409 MiB fails.
TEST(Limit, RefusalsWithRoomInTheDriverAreALimit) {
  Settings told, real;
  real.fraction = 0.1;
  Recorder recorder;
  ModelDriver driver(4096 * kMiB);
  Allocator allocator(real, 4096 * kMiB, driver, recorder);
  auto held = allocator.malloc(200 * kMiB, 0, 0);
  ASSERT_TRUE(held);
  EXPECT_FALSE(allocator.malloc(300 * kMiB, 0, 0));
  allocator.free(*held, false);
  model::Trace trace = recorder.builder.build();
  Found found = find(trace, told, mostReserved(trace));
  EXPECT_EQ(found.verified.events_exact, trace.events.size());
  EXPECT_EQ(found.verified.refused_with_room, 1U);
  EXPECT_EQ(found.limit_bytes, 200 * kMiB);
  EXPECT_EQ(found.most_bytes, 500 * kMiB - 1);
  EXPECT_GE(real.capBytes(4096 * kMiB), *found.limit_bytes);
  EXPECT_LE(real.capBytes(4096 * kMiB), *found.most_bytes);
  // A threshold that has nothing to do with it hides none.
  told.gc_threshold = 0.99;
  EXPECT_EQ(find(trace, told, mostReserved(trace)).limit_bytes, 200 * kMiB);
}

TEST(Limit, NoneIsReportedWithoutEvidence) {
  Settings plain;
  model::Trace trace = grown(plain, 65536 * kMiB, 100);
  Found found = find(trace, plain, mostReserved(trace));
  EXPECT_FALSE(found.verified.first_divergence);
  EXPECT_FALSE(found.limit_bytes);
  // With a threshold that never did anything.
  Settings idle;
  idle.gc_threshold = 0.8;
  EXPECT_FALSE(find(trace, idle, mostReserved(trace)).limit_bytes);
  // Out of memory because the driver had nothing more.
  testing::TraceBuilder b;
  b.segmentAlloc(1ULL << 40, 200 * kMiB).alloc(1ULL << 40, 200 * kMiB).oom(40 * kMiB, 300 * kMiB);
  model::Trace full = b.build();
  EXPECT_FALSE(find(full, plain, 200 * kMiB).limit_bytes);
  EXPECT_FALSE(find(full, plain, 0).limit_bytes);  // nothing was ever reserved: a made file
}

}  // namespace
}  // namespace tidegauge::replay
