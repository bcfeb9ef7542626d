#include "analysis/layout/layout.h"

#include <gtest/gtest.h>

#include "analysis/layout/free_sums.h"
#include "analysis/trace/analysed_trace.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using model::BlockState;
using model::SegmentKind;
using testing::TraceBuilder;

std::vector<LayoutBlock> blocksOf(const AnalysedTrace& analysed, Step step) {
  const DeviceAnalysis& device = *analysed.devices[0];
  return blocksAt(analysed.trace, device.device, device.live, step);
}

TEST(Layout, FillsTheGapsBetweenBlocks) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA + 2 * kMiB, 3 * kMiB).alloc(kA + 10 * kMiB, 4 * kMiB);
  b.freeRequested(kA + 10 * kMiB, 4 * kMiB).freeCompleted(kA + 10 * kMiB, 4 * kMiB);
  AnalysedTrace analysed(b.build());
  std::vector<LayoutBlock> blocks = blocksOf(analysed, 3);
  ASSERT_EQ(blocks.size(), 5U);
  EXPECT_EQ(blocks[0].state, BlockState::kInactive);
  EXPECT_EQ(blocks[0].size_bytes, 2 * kMiB);
  EXPECT_EQ(blocks[1].state, BlockState::kActiveAllocated);
  EXPECT_EQ(blocks[2].address, kA + 5 * kMiB);
  EXPECT_EQ(blocks[3].state, BlockState::kActivePendingFree);
  EXPECT_EQ(blocks[4].size_bytes, 6 * kMiB);
  EXPECT_EQ(blocksOf(analysed, 4).size(), 3U);
  EXPECT_EQ(blocksOf(analysed, 0).size(), 1U);
}

TEST(Layout, PendingAtTheEndIsShownAsSuch) {
  TraceBuilder b;
  b.alloc(kA + kMiB, 1).free(kA + kMiB, 1).finalSegment(kA, 2 * kMiB, SegmentKind::kSmall);
  b.block(512, BlockState::kActivePendingFree, 500).block(2 * kMiB - 512, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  EXPECT_EQ(blocksOf(analysed, 2)[0].state, BlockState::kActivePendingFree);
}

TEST(Layout, ABlockOutsideEverySegmentStandsAlone) {
  TraceBuilder b;
  b.alloc(0x1000, 512).segmentAlloc(kA, 2 * kMiB);
  AnalysedTrace analysed(b.build());
  std::vector<LayoutBlock> blocks = blocksOf(analysed, 1);
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_FALSE(blocks[0].segment.valid());
  EXPECT_EQ(freeSums(analysed.trace, blocks).bytes, 2 * kMiB);
}

TEST(Layout, OrdinarySegmentsAreReleasedWhole) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).segmentAlloc(kA + 40 * kMiB, 20 * kMiB).alloc(kA, 2 * kMiB);
  AnalysedTrace analysed(b.build());
  FreeSums parts = freeSums(analysed.trace, blocksOf(analysed, 2));
  EXPECT_EQ(parts.bytes, 38 * kMiB);
  EXPECT_EQ(parts.holes, 2U);
  EXPECT_EQ(parts.largest_bytes, 20 * kMiB);
  EXPECT_EQ(parts.pinned_bytes, 18 * kMiB);
  EXPECT_EQ(parts.pinned_segments, 1U);
  EXPECT_EQ(parts.releasable_bytes, 20 * kMiB);
}

TEST(Layout, ExpandableSegmentsAreReleasedByThePage) {
  TraceBuilder b;  // pages of 20 MiB: the second is whole, the first and third are not
  b.map(kA, 60 * kMiB).alloc(kA, 5 * kMiB).alloc(kA + 50 * kMiB, 10 * kMiB);
  AnalysedTrace analysed(b.build());
  FreeSums parts = freeSums(analysed.trace, blocksOf(analysed, 2));
  EXPECT_EQ(parts.bytes, 45 * kMiB);
  EXPECT_EQ(parts.releasable_bytes, 20 * kMiB);
  EXPECT_EQ(parts.pinned_bytes, 25 * kMiB);
}

TEST(Layout, OverlappingBlocksDoNotMakeFreeBytes) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 30 * kMiB).alloc(kA + kMiB, 2 * kMiB);
  b.alloc(kA + 4 * kMiB, UINT64_MAX);
  AnalysedTrace analysed(b.build());
  EXPECT_EQ(freeSums(analysed.trace, blocksOf(analysed, 3)).bytes, 0U);
}

}  // namespace
}  // namespace tidegauge::analysis
