#include "analysis/layout/free_blocks.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/simulated_heap.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using model::PoolId;
using model::StreamId;
using testing::TraceBuilder;

constexpr PoolId kDefaultPool(0);
constexpr StreamId kDefaultStream(0);

struct Built {
  AnalysedTrace analysed;
  FreeBlocks free;
  // Takes the builder's trace; for a second state, write it again.
  explicit Built(TraceBuilder&& b)
      : analysed(b.build()), free(freeBlocksAt(analysed, *analysed.devices[0], model::kNoStep)) {}
  // Size of the block that a request would be cut from; 0: none.
  uint64_t taken(uint64_t request, PoolId pool = kDefaultPool,
                 StreamId stream = kDefaultStream) const {
    const FreeBlock* block = fit(free, request, pool, stream);
    return block == nullptr ? 0 : block->size_bytes;
  }
};

// A segment at `a` with the given free parts, each followed by a live block of 2 MiB.
void shredded(TraceBuilder& b, uint64_t a, std::initializer_list<uint64_t> free_parts) {
  uint64_t bytes = 0;
  for (uint64_t part : free_parts) bytes += part + 2 * kMiB;
  b.segmentAlloc(a, bytes);
  for (uint64_t part : free_parts) {
    b.alloc(a + part, 2 * kMiB);
    a += part + 2 * kMiB;
  }
}

TEST(FreeBlocks, BestFitOfOnePoolAndStream) {
  TraceBuilder b;
  shredded(b, kA, {3 * kMiB, 40 * kMiB, 12 * kMiB});
  Built built(std::move(b));
  EXPECT_EQ(built.free.bytes, 55 * kMiB);
  EXPECT_EQ(built.free.count, 3U);
  EXPECT_EQ(built.free.largest_bytes, 40 * kMiB);
  EXPECT_EQ(built.taken(2 * kMiB), 3 * kMiB);
  EXPECT_EQ(built.taken(10 * kMiB), 12 * kMiB);
  EXPECT_EQ(built.taken(40 * kMiB), 40 * kMiB);
  EXPECT_EQ(built.taken(40 * kMiB + 1), 0U);  // a byte more is a block of 512 B more
  EXPECT_EQ(built.taken(10 * kMiB, kDefaultPool, StreamId(1)), 0U);
  EXPECT_EQ(built.taken(10 * kMiB, PoolId(1)), 0U);
  EXPECT_EQ(largestRequest(built.free.rules, built.free.lists.at(0)), 40 * kMiB);
}

TEST(FreeBlocks, SmallRequestsAndLargeOnesNeverShare) {
  TraceBuilder b;
  b.segmentAlloc(kA, 2 * kMiB).alloc(kA, 512);
  shredded(b, kA + 100 * kMiB, {30 * kMiB});
  Built built(std::move(b));
  ASSERT_EQ(built.free.lists.size(), 2U);
  EXPECT_EQ(built.taken(kMiB), 2 * kMiB - 512);
  EXPECT_EQ(built.taken(kMiB + 1), 30 * kMiB);
  EXPECT_EQ(largestRequest(built.free.rules, built.free.lists.at(1)), kMiB);
  // Remainders of 1 MiB and less in the large pool serve no request.
  TraceBuilder crumbs;
  shredded(crumbs, kA, {kMiB, 512 * kKiB});
  Built crumbled(std::move(crumbs));
  EXPECT_EQ(largestRequest(crumbled.free.rules, crumbled.free.lists.at(0)), 0U);
  EXPECT_EQ(crumbled.taken(kMiB), 0U);
}

TEST(FreeBlocks, WhatWaitsForAnotherStreamIsNotFree) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 20 * kMiB).freeRequested(kA, 20 * kMiB);
  b.freeCompleted(kA, 20 * kMiB);
  AnalysedTrace analysed(b.build());
  EXPECT_EQ(freeBlocksAt(analysed, *analysed.devices[0], 2).count, 0U);
  EXPECT_EQ(freeBlocksAt(analysed, *analysed.devices[0], 3).bytes, 20 * kMiB);
}

TEST(FreeBlocks, AStreamAndAPoolOfTheirOwn) {
  TraceBuilder b;
  b.stream(7).segmentAlloc(kA, 20 * kMiB).alloc(kA, 2 * kMiB);
  b.pool(1, 0)
      .finalSegment(kA, 20 * kMiB)
      .block(2 * kMiB, model::BlockState::kActiveAllocated, 2 * kMiB);
  b.block(18 * kMiB, model::BlockState::kInactive);
  Built built(std::move(b));
  ASSERT_EQ(built.free.lists.size(), 1U);
  const FreeListKey& key = built.free.lists[0].key;
  EXPECT_NE(key.pool, kDefaultPool);
  EXPECT_EQ(built.taken(5 * kMiB), 0U);
  EXPECT_EQ(built.taken(5 * kMiB, key.pool, key.stream), 18 * kMiB);
  EXPECT_EQ(built.free.unknown_pool_bytes, 0U);
}

TEST(FreeBlocks, ASegmentOfUnknownPoolIsTakenForTheDefaultOne) {
  TraceBuilder b;
  shredded(b, kA, {10 * kMiB});
  b.segmentFree(kA, 12 * kMiB);
  AnalysedTrace analysed(b.build());
  FreeBlocks free = freeBlocksAt(analysed, *analysed.devices[0], 1);
  EXPECT_EQ(free.unknown_pool_bytes, 12 * kMiB);
  EXPECT_NE(fit(free, 5 * kMiB, kDefaultPool, kDefaultStream), nullptr);
}

TEST(FreeBlocks, OversizeRules) {
  auto build = [](const char* conf) {
    TraceBuilder b;
    b.settings().max_split_bytes = 64 * kMiB;
    b.settings().conf = conf;
    shredded(b, kA, {30 * kMiB, 100 * kMiB});
    return Built(std::move(b));
  };
  Built built = build("max_split_size_mb:64");
  EXPECT_EQ(built.taken(30 * kMiB), 30 * kMiB);
  EXPECT_EQ(built.taken(31 * kMiB), 0U);  // below the limit: no block above it
  EXPECT_EQ(built.taken(64 * kMiB), 0U);  // 36 MiB would be wasted, 20 are allowed
  EXPECT_EQ(built.taken(80 * kMiB), 0U);
  EXPECT_EQ(built.taken(80 * kMiB + 512), 100 * kMiB);
  EXPECT_EQ(largestRequest(built.free.rules, built.free.lists.at(0)), 100 * kMiB);
  EXPECT_EQ(build("max_split_size_mb:64, max_non_split_rounding_mb:40").taken(64 * kMiB),
            100 * kMiB);
}

TEST(FreeBlocks, LargestRequestKnowsTheRounding) {
  TraceBuilder b;
  b.settings().roundup_power2_divisions.fill(4);
  shredded(b, kA, {11 * kMiB});
  Built built(std::move(b));
  EXPECT_EQ(built.taken(10 * kMiB + 1), 0U);  // becomes 12 MiB
  EXPECT_EQ(largestRequest(built.free.rules, built.free.lists.at(0)), 10 * kMiB);
}

TEST(FreeBlocks, WithoutTheSettingExpandableBlocksAreNotUsed) {
  for (bool expandable : {false, true}) {
    TraceBuilder b;
    b.settings().present = true;
    b.settings().expandable_segments = expandable;
    b.map(kA, 40 * kMiB).alloc(kA, 10 * kMiB);
    EXPECT_EQ(Built(std::move(b)).taken(5 * kMiB), expandable ? 30 * kMiB : 0U);
  }
}

TEST(FreeBlocks, WithoutSettingsTheSegmentsShowThatTheyAreExpandable) {
  TraceBuilder b;
  b.settings().present = false;
  b.map(kA, 40 * kMiB).alloc(kA, 10 * kMiB);
  EXPECT_EQ(Built(std::move(b)).taken(5 * kMiB), 30 * kMiB);
}

// The oversize rules look at the block that the walk ends at, not at the first that is large
// enough.
TEST(FreeBlocks, AHoleIsPreferredToTheEndThatCanGrow) {
  auto taken = [](uint64_t max_split_bytes) {
    TraceBuilder b;
    b.settings().expandable_segments = true;
    b.settings().max_split_bytes = max_split_bytes;
    // [30 free][24 live][26 free, can grow]
    b.map(kA, 80 * kMiB).alloc(kA + 30 * kMiB, 22 * kMiB).alloc(kA + 52 * kMiB, 2 * kMiB);
    return Built(std::move(b)).taken(5 * kMiB);
  };
  EXPECT_EQ(taken(model::kUnknownBytes), 30 * kMiB);
  EXPECT_EQ(taken(28 * kMiB), 0U);
}

TEST(FreeBlocks, WhatTheDriverWouldBeAskedFor) {
  TraceBuilder b;
  shredded(b, kA, {3 * kMiB});
  Built built(std::move(b));
  auto asked = [&](uint64_t request) {
    return driverBytes(built.free, request, kDefaultPool, kDefaultStream);
  };
  EXPECT_EQ(asked(1), 2 * kMiB);
  EXPECT_EQ(asked(kMiB), 2 * kMiB);
  EXPECT_EQ(asked(kMiB + 1), 20 * kMiB);
  EXPECT_EQ(asked(10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(asked(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(asked(10 * kMiB + 1), 12 * kMiB);
  EXPECT_EQ(asked(UINT64_MAX), UINT64_MAX);
}

TEST(FreeBlocks, ReservationsLackPagesOnly) {
  auto build = [](const char* conf) {
    TraceBuilder b;
    b.settings().expandable_segments = true;
    b.settings().conf = conf;
    // 10 MiB live, 30 free, 20 unmapped, 15 free, 5 live, then no end
    b.map(kA, 60 * kMiB).map(kA + 60 * kMiB, 20 * kMiB).alloc(kA, 10 * kMiB);
    b.alloc(kA + 75 * kMiB, 5 * kMiB).unmap(kA + 40 * kMiB, 20 * kMiB);
    return Built(std::move(b));
  };
  auto asked = [](const Built& built, uint64_t request, StreamId stream = kDefaultStream) {
    return driverBytes(built.free, request, kDefaultPool, stream);
  };
  Built built = build("expandable_segments:True");
  EXPECT_EQ(asked(built, 31 * kMiB), 20 * kMiB);  // 30 free + a page
  EXPECT_EQ(asked(built, 65 * kMiB), 20 * kMiB);  // 30 + 20 + 15
  EXPECT_EQ(asked(built, 66 * kMiB), 80 * kMiB);  // that stretch is too short: pages at the end
  EXPECT_EQ(asked(built, 30 * kMiB, StreamId(3)), 40 * kMiB);  // its own reservation
  Built large_pages = build("expandable_segments:True,large_segment_size_mb:40");
  EXPECT_EQ(asked(large_pages, 30 * kMiB, StreamId(3)), 40 * kMiB);
  EXPECT_EQ(asked(large_pages, 50 * kMiB, StreamId(3)), 80 * kMiB);
}

TEST(FreeBlocks, StrandedIsWhatRequestsOfThatSizeCannotUse) {
  TraceBuilder b;
  shredded(b, kA, {3 * kMiB, 12 * kMiB, 40 * kMiB});
  Built built(std::move(b));
  EXPECT_EQ(strandedBytes(built.free, 512), 0U);
  EXPECT_EQ(strandedBytes(built.free, 5 * kMiB), 5 * kMiB);  // 3 + 2 + 0
  EXPECT_EQ(strandedBytes(built.free, 41 * kMiB), 55 * kMiB);
  EXPECT_EQ(strandedBytes(built.free, 0), 0U);
}

// Each free byte of a simulated heap is in exactly one list.
TEST(FreeBlocks, ListsAddUp) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    testing::SimulatedTrace run = testing::simulate(
        {.seed = seed, .events = 400, .expandable = seed % 2 == 0, .drop_first = 0});
    std::vector<Totals> truth = run.truth;
    AnalysedTrace analysed(std::move(run.trace));
    for (Step step = 0; step < truth.size(); step += 37) {
      FreeBlocks free = freeBlocksAt(analysed, *analysed.devices[0], step);
      EXPECT_EQ(free.bytes, truth[step].reserved_bytes - truth[step].active_bytes);
      uint64_t reserved = 0;
      for (const FreeList& list : free.lists) {
        reserved += list.reserved_bytes;
        EXPECT_EQ(list.bytes + list.live_bytes, list.reserved_bytes);
      }
      EXPECT_EQ(reserved, truth[step].reserved_bytes);
    }
  }
}

TEST(AllocatorRules, ReadsTheConf) {
  EXPECT_EQ(confNumber("a_mb:1,b:2.5", "b"), 2.5);
  EXPECT_EQ(confNumber(" b : 0.8 ", "b"), 0.8);
  EXPECT_EQ(confNumber("bb:1,xb:2", "b"), std::nullopt);
  EXPECT_EQ(confNumber("b:[1:2]", "b"), std::nullopt);
  EXPECT_EQ(confNumber("b:", "b"), std::nullopt);
  EXPECT_EQ(confNumber("", "b"), std::nullopt);
  EXPECT_TRUE(confNames("x:1,roundup:[1:2,>:4]", "roundup"));
  EXPECT_FALSE(confNames("x:1", "roundup"));
  model::AllocatorSettings settings;
  settings.conf = "large_segment_size_mb:1e300,max_non_split_rounding_mb:nan";
  AllocatorRules rules(settings);
  EXPECT_EQ(rules.large_segment_bytes, 20 * kMiB);
  EXPECT_EQ(rules.max_non_split_rounding_bytes, 20 * kMiB);
}

}  // namespace
}  // namespace tidegauge::analysis
