#include "analysis/layout/pinned.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "analysis/layout/free_sums.h"
#include "analysis/trace/analysed_trace.h"
#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/simulated_heap.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;

SegmentedLayout layoutOf(const AnalysedTrace& analysed, Step step = model::kNoStep) {
  const DeviceAnalysis& device = *analysed.devices[0];
  return SegmentedLayout(blocksAt(analysed.trace, device.device, device.live, step));
}

uint64_t sumOfAlone(const Pinned& pinned) {
  uint64_t bytes = 0;
  for (const StackPins& pins : pinned.stacks) bytes += pins.alone_bytes;
  return bytes;
}

TEST(Pinned, ASmallBlockKeepsAWholeSegment) {
  TraceBuilder b;
  b.stack({"step@/home/me/optimizer.py:88"});
  for (uint64_t i = 0; i < 12; ++i) {
    b.segmentAlloc(kA + 100 * i * kMiB, 20 * kMiB).alloc(kA + 100 * i * kMiB, 2 * kMiB);
  }
  b.segmentAlloc(kA + 5000 * kMiB, 20 * kMiB);  // empty: could go back
  AnalysedTrace analysed(b.build());
  Pinned pinned = pinnedBy(analysed.trace, layoutOf(analysed));
  EXPECT_EQ(pinned.free_bytes, (12 * 18 + 20) * kMiB);
  EXPECT_EQ(pinned.pinned_bytes, 12 * 18 * kMiB);
  EXPECT_EQ(pinned.releasable_bytes, 20 * kMiB);
  EXPECT_EQ(pinned.segments, 12U);
  ASSERT_EQ(pinned.stacks.size(), 1U);
  EXPECT_EQ(pinned.stacks[0].blocks, 12U);
  EXPECT_EQ(pinned.stacks[0].block_bytes, 24 * kMiB);
  EXPECT_EQ(pinned.stacks[0].alone_bytes, 12 * 18 * kMiB);
  EXPECT_EQ(pinned.stacks[0].shared_bytes, 0U);
  EXPECT_EQ(pinned.stacks[0].segments, 12U);
  EXPECT_EQ(analysed.trace.allocations.first_step[pinned.stacks[0].oldest_row], 1U);
}

TEST(Pinned, WhatTwoStacksPinIsCountedOnce) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).stack({"f@a.py:1"}).alloc(kA, 2 * kMiB);
  b.stack({"g@b.py:2"}).alloc(kA + 10 * kMiB, 3 * kMiB);
  b.segmentAlloc(kA + 100 * kMiB, 20 * kMiB).alloc(kA + 100 * kMiB, 4 * kMiB);
  AnalysedTrace analysed(b.build());
  Pinned pinned = pinnedBy(analysed.trace, layoutOf(analysed));
  EXPECT_EQ(pinned.pinned_bytes, 31 * kMiB);
  EXPECT_EQ(pinned.shared_bytes, 15 * kMiB);
  ASSERT_EQ(pinned.stacks.size(), 2U);  // most pinned per live byte first
  EXPECT_EQ(pinned.stacks[1].alone_bytes, 16 * kMiB);
  EXPECT_EQ(pinned.stacks[1].shared_bytes, 15 * kMiB);
  EXPECT_EQ(pinned.stacks[1].blocks, 2U);
  EXPECT_EQ(pinned.stacks[1].smallest_bytes, 3 * kMiB);
  EXPECT_EQ(pinned.stacks[1].largest_bytes, 4 * kMiB);
  EXPECT_EQ(pinned.stacks[0].alone_bytes, 0U);
  EXPECT_EQ(pinned.stacks[0].shared_bytes, 15 * kMiB);
}

TEST(Pinned, PagesOfExpandableSegmentsGoBackOneByOne) {
  TraceBuilder b;
  b.map(kA, 100 * kMiB).stack({"f@a.py:1"}).alloc(kA + 5 * kMiB, 2 * kMiB);
  b.stack({"g@b.py:2"}).alloc(kA + 70 * kMiB, 25 * kMiB);  // in pages 3 and 4
  AnalysedTrace analysed(b.build());
  SegmentedLayout layout = layoutOf(analysed);
  Pinned pinned = pinnedBy(analysed.trace, layout);
  EXPECT_EQ(pinned.free_bytes, 73 * kMiB);
  EXPECT_EQ(pinned.pinned_bytes, (18 + 10 + 5) * kMiB);
  EXPECT_EQ(pinned.releasable_bytes, 40 * kMiB);
  ASSERT_EQ(pinned.stacks.size(), 2U);
  EXPECT_EQ(pinned.stacks[0].alone_bytes, 18 * kMiB);
  EXPECT_EQ(pinned.stacks[1].alone_bytes, 15 * kMiB);
  EXPECT_EQ(pinned.stacks[1].blocks, 1U);  // although it is in two pages
  std::vector<Pin> pins = pinsOf(analysed.trace, layout.segments().at(0));
  ASSERT_EQ(pins.size(), 2U);
  EXPECT_EQ(pins[0].pins_bytes, 18 * kMiB);
  EXPECT_EQ(pins[1].pins_bytes, 15 * kMiB);
}

TEST(Pinned, ThePageIsThatOfTheSettings) {
  TraceBuilder b;
  b.settings().conf = "large_segment_size_mb:40";
  b.map(kA, 80 * kMiB).alloc(kA + 5 * kMiB, 2 * kMiB);
  AnalysedTrace analysed(b.build());
  EXPECT_EQ(pinnedBy(analysed.trace, layoutOf(analysed)).pinned_bytes, 38 * kMiB);
}

TEST(Pinned, BlocksOutsideEverySegmentPinNothing) {
  TraceBuilder b;
  b.alloc(0x1000, 4 * kKiB).segmentAlloc(kA, 2 * kMiB);
  AnalysedTrace analysed(b.build());
  Pinned pinned = pinnedBy(analysed.trace, layoutOf(analysed));
  EXPECT_EQ(pinned.pinned_bytes, 0U);
  EXPECT_EQ(pinned.releasable_bytes, 2 * kMiB);
  EXPECT_TRUE(pinned.stacks.empty());
}

// Small memory that pins much comes before large memory that pins more; what pins less than a tenth
// comes last, however small it is.
TEST(Pinned, AreRankedByWhatTheyPinPerLiveByte) {
  for (bool tiny_is_major : {true, false}) {  // it pins 24 MiB of 240, of 250
    TraceBuilder b;
    b.stack({"heavy@model.py:1"}).segmentAlloc(kA, 300 * kMiB).alloc(kA, 160 * kMiB);  // pins 140
    uint64_t at = kA + 1024 * kMiB;
    uint64_t light = tiny_is_major ? 78 * kMiB : 88 * kMiB;
    b.stack({"light@model.py:2"}).segmentAlloc(at, light).alloc(at, 2 * kMiB);  // pins 76, 86
    at += 1024 * kMiB;
    b.stack({"tiny@model.py:3"}).segmentAlloc(at, 24 * kMiB + 512).alloc(at, 512);  // pins 24
    AnalysedTrace analysed(b.build());
    Pinned pinned = pinnedBy(analysed.trace, layoutOf(analysed, 100));
    EXPECT_EQ(pinned.pinned_bytes, tiny_is_major ? 240 * kMiB : 250 * kMiB);
    std::vector<uint64_t> order;
    for (const StackPins& pins : pinned.stacks) order.push_back(pins.block_bytes);
    std::vector<uint64_t> wanted = tiny_is_major ? std::vector<uint64_t>{512, 2 * kMiB, 160 * kMiB}
                                                 : std::vector<uint64_t>{2 * kMiB, 160 * kMiB, 512};
    EXPECT_EQ(order, wanted);
    EXPECT_EQ(pinned.isMajor(pinned.stacks.back()), tiny_is_major);
  }
}

// Examines every 512 bytes of every segment: slow and obvious.
struct SlowPinned {
  uint64_t pinned = 0, shared = 0;
  std::map<uint32_t, uint64_t> alone, with_others;
};

SlowPinned slowPinned(const AnalysedTrace& analysed, Step step) {
  const model::Trace& trace = analysed.trace;
  const DeviceAnalysis& device = *analysed.devices[0];
  std::vector<LayoutBlock> blocks = blocksAt(trace, device.device, device.live, step);
  struct Unit {
    std::set<uint32_t> stacks;
    uint64_t free = 0;
  };
  std::map<std::pair<uint32_t, uint64_t>, Unit> units;
  for (const LayoutBlock& block : blocks) {
    if (!block.segment.valid()) continue;
    bool pages = isExpandable(trace, block.segment);
    for (uint64_t at = block.address; at < block.address + block.size_bytes; at += 512) {
      uint64_t offset = at - trace.segments.address[block.segment.index()];
      uint64_t page = pages ? offset / pageBytes(trace, block.segment) : 0;
      Unit& unit = units[{block.segment.value, page}];
      if (isLive(block)) {
        unit.stacks.insert(block.stack.value);
      } else {
        unit.free += 512;
      }
    }
  }
  SlowPinned slow;
  for (const auto& [key, unit] : units) {
    if (unit.stacks.empty()) continue;
    slow.pinned += unit.free;
    if (unit.stacks.size() > 1) slow.shared += unit.free;
    for (uint32_t stack : unit.stacks) {
      (unit.stacks.size() == 1 ? slow.alone : slow.with_others)[stack] += unit.free;
    }
  }
  return slow;
}

TEST(Pinned, AgreesWithTheSlowTwin) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    testing::SimulatedTrace run = testing::simulate({.seed = seed,
                                                     .events = 300,
                                                     .expandable = seed % 2 == 0,
                                                     .drop_first = seed % 3 == 0 ? 50 : 0});
    AnalysedTrace analysed(std::move(run.trace));
    const DeviceAnalysis& device = *analysed.devices[0];
    for (Step step = 0; step < device.totals.steps(); step += 61) {
      SegmentedLayout layout = layoutOf(analysed, step);
      Pinned pinned = pinnedBy(analysed.trace, layout);
      SlowPinned slow = slowPinned(analysed, step);
      EXPECT_EQ(pinned.pinned_bytes - pinned.by_nobody_bytes, slow.pinned);
      EXPECT_EQ(pinned.shared_bytes, slow.shared);
      for (const StackPins& pins : pinned.stacks) {
        EXPECT_EQ(pins.alone_bytes, slow.alone[pins.stack.value]);
        EXPECT_EQ(pins.shared_bytes, slow.with_others[pins.stack.value]);
      }
      EXPECT_EQ(sumOfAlone(pinned) + pinned.shared_bytes + pinned.by_nobody_bytes,
                pinned.pinned_bytes);
      FreeSums parts;
      for (const SegmentContents& contents : layout.segments()) {
        if (!contents.segment.valid()) continue;
        FreeSums of_segment = freeSums(analysed.trace, contents.blocks);
        parts.pinned_bytes += of_segment.pinned_bytes;
        parts.releasable_bytes += of_segment.releasable_bytes;
      }
      EXPECT_EQ(pinned.pinned_bytes, parts.pinned_bytes);
      EXPECT_EQ(pinned.releasable_bytes, parts.releasable_bytes);
    }
  }
}

// Contradictory traces: nothing aborts, no byte is counted twice.
TEST(Pinned, MessyTracesAddUp) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    AnalysedTrace analysed(testing::messyTrace({.seed = seed, .wild = seed % 3 == 0}));
    for (const auto& device : analysed.devices) {
      for (Step step : {Step{0}, Step{40}, model::kNoStep}) {
        SegmentedLayout layout(blocksAt(analysed.trace, device->device, device->live, step));
        Pinned pinned = pinnedBy(analysed.trace, layout);
        EXPECT_EQ(sumOfAlone(pinned) + pinned.shared_bytes + pinned.by_nobody_bytes,
                  pinned.pinned_bytes);
        EXPECT_EQ(pinned.pinned_bytes + pinned.releasable_bytes, pinned.free_bytes);
      }
    }
  }
}

}  // namespace
}  // namespace tidegauge::analysis
