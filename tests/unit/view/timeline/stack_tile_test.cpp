#include "view/timeline/stack_tile.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::view {
namespace {

using analysis::AnalysedTrace;

StackTile tileOf(const AnalysedTrace& trace, double steps, uint32_t columns, double row_bytes,
                 const MarkSet* mark = nullptr) {
  TileRequest request;
  request.x = {.x1 = steps, .columns = columns};
  request.y1_bytes = 1e12;
  request.row_bytes = row_bytes;
  request.mark = mark;
  return stackTile(trace, *trace.devices[0], request);
}

TEST(StackTile, ABlockSinksWhenOneBelowItIsFreed) {
  testing::TraceBuilder b;
  b.alloc(0x1000000, 4 * kMiB).alloc(0x2000000, 8 * kMiB);
  b.event(model::Action::kFree, 0x1000000, 4 * kMiB).alloc(0x3000000, 2 * kMiB);
  AnalysedTrace trace(b.build());
  StackTile tile = tileOf(trace, 4, 4, kMiB);
  ASSERT_EQ(tile.quads.size(), 4u);
  auto has = [&](uint32_t id, int begin, int end, double lower, double upper) {
    for (const Quad& q : tile.quads) {
      if (q.allocation == id && q.column_begin == begin && q.column_end == end &&
          q.lower_bytes == static_cast<float>(lower * kMiB) &&
          q.upper_bytes == static_cast<float>(upper * kMiB)) {
        return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(has(0, 0, 2, 0, 4));
  EXPECT_TRUE(has(1, 1, 2, 4, 12));
  EXPECT_TRUE(has(1, 2, 4, 0, 8));
  EXPECT_TRUE(has(2, 3, 4, 8, 10));
  EXPECT_EQ(tile.highest_active_bytes, 12 * kMiB);
  EXPECT_FALSE(tile.threshold_raised);
}

TEST(StackTile, EndsEarlyWhenNobodyWaits) {
  testing::TraceBuilder b;
  b.alloc(0x1000000, 4 * kMiB).alloc(0x2000000, 8 * kMiB);
  AnalysedTrace trace(b.build());
  std::stop_source nobody;
  TileRequest request{.x = {.x1 = 2, .columns = 2},
                      .y1_bytes = 1e12,
                      .row_bytes = kMiB,
                      .stop = nobody.get_token()};
  EXPECT_FALSE(stackTile(trace, *trace.devices[0], request).stopped);
  nobody.request_stop();
  StackTile tile = stackTile(trace, *trace.devices[0], request);
  EXPECT_TRUE(tile.stopped);
  EXPECT_TRUE(tile.quads.empty());
}

TEST(StackTile, SmallBlocksAreMergedAndCounted) {
  testing::TraceBuilder b;
  for (uint64_t i = 0; i < 5; ++i) b.alloc(0x1000000 + i * kMiB, kMiB);
  AnalysedTrace trace(b.build());
  StackTile tile = tileOf(trace, 5, 5, 10 * kMiB);
  double area = 0;
  for (const Quad& q : tile.quads) {
    EXPECT_EQ(q.allocation, kNoId);
    EXPECT_EQ(q.flags, kQuadMerged);
    area += (q.column_end - q.column_begin) * (q.upper_bytes - q.lower_bytes);
    EXPECT_EQ(q.first_step, q.column_begin + 1u) << "number of blocks at the first column";
  }
  EXPECT_EQ(area, 0) << "all of it is lower than half a row of 10 MiB";
  tile = tileOf(trace, 5, 1, 2 * kMiB);
  ASSERT_EQ(tile.quads.size(), 1u);
  EXPECT_EQ(tile.quads[0].first_step, 5u);
  EXPECT_EQ(tile.quads[0].upper_bytes, static_cast<float>(4 * kMiB)) << "5 MiB to whole rows";
}

TEST(StackTile, MarkedBlocksStayVisible) {
  testing::TraceBuilder b;
  for (uint64_t i = 0; i < 5; ++i) b.alloc(0x1000000 + i * kMiB, kMiB);
  AnalysedTrace trace(b.build());
  MarkSet mark({3}, 5);
  StackTile tile = tileOf(trace, 5, 5, 100 * kMiB, &mark);
  ASSERT_EQ(tile.quads.size(), 1u);
  EXPECT_EQ(tile.quads[0].allocation, 3u);
  EXPECT_EQ(tile.quads[0].flags, kQuadMarked);
  EXPECT_EQ(tile.quads[0].column_begin, 3);
  EXPECT_EQ(tile.quads[0].column_end, 5);
  EXPECT_GT(tile.quads[0].upper_bytes, tile.quads[0].lower_bytes);
}

TEST(StackTile, ManyMarkedBlocksAreMergedButTheMarkShows) {
  testing::TraceBuilder b;
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < 3000; ++i) {
    b.alloc(0x1000000 + i * kMiB, kMiB);
    all.push_back(i);
  }
  AnalysedTrace trace(b.build());
  MarkSet mark(all, 3000);
  StackTile tile = tileOf(trace, 3000, 10, 10 * kMiB, &mark);
  EXPECT_LE(tile.quads.size(), 8000u);
  ASSERT_FALSE(tile.quads.empty());
  for (const Quad& q : tile.quads) EXPECT_EQ(q.flags, kQuadMerged | kQuadMarked);
}

TEST(StackTile, FreedButWaitingIsAPartOfTheLife) {
  testing::TraceBuilder b;
  b.alloc(0x1000000, 4 * kMiB).freeRequested(0x1000000, 4 * kMiB).alloc(0x2000000, 512);
  b.freeCompleted(0x1000000, 4 * kMiB);
  AnalysedTrace trace(b.build());
  StackTile tile = tileOf(trace, 4, 4, kMiB);
  ASSERT_EQ(tile.quads.size(), 2u);
  EXPECT_EQ(tile.quads[0].column_end, 1);
  EXPECT_EQ(tile.quads[0].flags, 0);
  EXPECT_EQ(tile.quads[1].column_begin, 1);
  EXPECT_EQ(tile.quads[1].column_end, 3);
  EXPECT_EQ(tile.quads[1].flags, kQuadWaiting);
}

TEST(StackTile, TheThresholdRisesUntilTheQuadsFit) {
  testing::TraceBuilder b;
  for (uint64_t i = 0; i < 400; ++i) b.alloc(0x1000000 + i * 8 * kMiB, (1 + i % 7) * kMiB);
  AnalysedTrace trace(b.build());
  TileRequest request;
  request.x = {.x1 = 400, .columns = 40};
  request.y1_bytes = 1e12;
  request.row_bytes = 64 << 10;
  request.most_quads = 100;
  StackTile tile = stackTile(trace, *trace.devices[0], request);
  EXPECT_TRUE(tile.threshold_raised);
  EXPECT_GT(tile.threshold_bytes, request.row_bytes);
  EXPECT_LE(tile.quads.size(), 100u);
}

TEST(StackTile, OnlyWhatIsInTheRectangleIsSent) {
  testing::TraceBuilder b;
  for (uint64_t i = 0; i < 10; ++i) b.alloc(0x1000000 + i * 16 * kMiB, 10 * kMiB);
  AnalysedTrace trace(b.build());
  TileRequest request;
  request.x = {.x0 = 9, .x1 = 10, .columns = 1};
  request.y0_bytes = 42 * kMiB;
  request.y1_bytes = 58 * kMiB;
  request.row_bytes = 1024;
  StackTile tile = stackTile(trace, *trace.devices[0], request);
  ASSERT_EQ(tile.quads.size(), 2u);
  EXPECT_EQ(tile.quads[0].allocation, 4u);
  EXPECT_EQ(tile.quads[0].lower_bytes, static_cast<float>(-2.0 * kMiB)) << "whole, not clipped";
  EXPECT_EQ(tile.quads[1].allocation, 5u);
}

TEST(StackTile, AFileWithoutEventsShowsItsFinalState) {
  testing::TraceBuilder b;
  b.finalSegment(0x1000000, 20 * kMiB)
      .block(12 * kMiB, model::BlockState::kActiveAllocated, 12 * kMiB)
      .block(8 * kMiB, model::BlockState::kInactive);
  AnalysedTrace trace(b.build());
  StackTile tile = tileOf(trace, 1, 4, kMiB);
  ASSERT_EQ(tile.quads.size(), 1u);
  EXPECT_EQ(tile.quads[0].upper_bytes, static_cast<float>(12 * kMiB));
  EXPECT_EQ(tile.quads[0].column_end, 4);
  EXPECT_EQ(tile.quads[0].provenance, static_cast<uint8_t>(model::Provenance::kGhost));
}

TEST(StackTile, HugeSizesOfAHostileFileDoNoHarm) {
  testing::TraceBuilder b;
  for (uint64_t i = 1; i < 8; ++i) b.alloc(i << 60, (uint64_t{1} << 63) - 1);
  AnalysedTrace trace(b.build());
  for (double row_bytes : {1.0, 1e6, 1e18}) {
    StackTile tile = tileOf(trace, 7, 7, row_bytes);
    for (const Quad& q : tile.quads) EXPECT_LT(q.lower_bytes, q.upper_bytes);
  }
}

}  // namespace
}  // namespace tidegauge::view
