// The stacked timeline against a slow twin: per column, the live blocks listed and summed up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/simulated_heap.h"
#include "view/timeline/block_at.h"
#include "view/timeline/stack_tile.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::Step;
using view::Quad;

struct Block {
  uint32_t row;
  double lower;
  double upper;
};

// The blocks live after `step`, bottom first, with their exact edges.
std::vector<Block> stackAt(const model::Trace& trace, const model::Device& device, Step step) {
  std::vector<Block> blocks;
  double height = 0;
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    if (!analysis::liveAfter(trace, static_cast<uint32_t>(row), step)) continue;
    double upper = height + static_cast<double>(trace.allocations.block_bytes[row]);
    blocks.push_back({static_cast<uint32_t>(row), height, upper});
    height = upper;
  }
  return blocks;
}

double heightOf(const std::vector<Block>& blocks) {
  return blocks.empty() ? 0 : blocks.back().upper;
}

struct Slow {
  std::vector<double> heights;  // by step

  // The expected sample of the column [x0, x1): the first of the highest states that begin in it,
  // or the state before; kNoStep outside.
  Step sampleOf(double x0, double x1) const {
    Step best = model::kNoStep;
    for (Step s = 0; s < heights.size(); ++s) {
      if (s >= x0 && s < x1 && (best == model::kNoStep || heights[s] > heights[best])) best = s;
    }
    if (best != model::kNoStep || x0 < 0 || x0 >= static_cast<double>(heights.size())) return best;
    return static_cast<Step>(x0);
  }
};

std::vector<Quad> quadsInColumn(const view::StackTile& tile, uint32_t column) {
  std::vector<Quad> quads;
  for (const Quad& quad : tile.quads) {
    if (quad.column_begin <= column && column < quad.column_end) quads.push_back(quad);
  }
  std::stable_sort(quads.begin(), quads.end(),
                   [](const Quad& a, const Quad& b) { return a.lower_bytes < b.lower_bytes; });
  return quads;
}

void checkColumn(const model::Trace& trace, const view::TileRequest& request,
                 const view::StackTile& tile, uint32_t column, const std::vector<Block>& blocks,
                 bool whole_height) {
  const double within = 0.5 * request.row_bytes + 1e-6 * std::max(1.0, heightOf(blocks));
  std::vector<Quad> quads = quadsInColumn(tile, column);
  size_t next = 0;  // block
  double drawn_to = 0;
  for (const Quad& quad : quads) {
    double lower = tile.origin_bytes + quad.lower_bytes;
    double upper = tile.origin_bytes + quad.upper_bytes;
    EXPECT_LT(lower, upper);
    if (whole_height) {
      EXPECT_NEAR(lower, drawn_to, within * 0.01 + 1) << "column " << column;
    }
    drawn_to = upper;
    if (quad.flags & view::kQuadMerged) {
      EXPECT_EQ(quad.allocation, view::kNoId);
      continue;
    }
    while (next < blocks.size() && blocks[next].row != quad.allocation) ++next;
    ASSERT_LT(next, blocks.size()) << "not live at the sample, or out of order";
    EXPECT_NEAR(lower, blocks[next].lower, within);
    EXPECT_NEAR(upper, blocks[next].upper, within);
    EXPECT_EQ(quad.first_step, trace.allocations.first_step[quad.allocation]);
    EXPECT_EQ(quad.stack, trace.allocations.stack[quad.allocation].value);
  }
  if (whole_height) {
    EXPECT_NEAR(drawn_to, heightOf(blocks), within);
  }
  for (const Block& block : blocks) {
    bool in_view =
        block.upper > request.y0_bytes + within && block.lower < request.y1_bytes - within;
    bool high = block.upper - block.lower >= tile.threshold_bytes;
    auto has = [&](const Quad& quad) { return quad.allocation == block.row; };
    auto count = std::count_if(quads.begin(), quads.end(), has);
    if (high && in_view) {
      EXPECT_EQ(count, 1) << "row " << block.row;
    }
    if (!high) {
      EXPECT_EQ(count, 0) << "row " << block.row;
    }
  }
}

void checkRunsAreMaximal(const view::StackTile& tile) {
  for (const Quad& a : tile.quads) {
    for (const Quad& b : tile.quads) {
      bool same = a.allocation == b.allocation && a.allocation != view::kNoId &&
                  a.lower_bytes == b.lower_bytes && a.upper_bytes == b.upper_bytes &&
                  a.flags == b.flags;
      EXPECT_FALSE(same && a.column_end == b.column_begin) << "row " << a.allocation;
    }
  }
}

TEST(TileTwin, EveryColumnShowsTheBlocksOfItsSample) {
  std::mt19937_64 random(11);
  auto upTo = [&](double most) { return std::uniform_real_distribution<>(0, most)(random); };
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    testing::HeapOptions options{.seed = seed, .events = 40 + static_cast<int>(random() % 400)};
    options.expandable = seed % 3 == 0;
    options.drop_first = seed % 2 == 0 ? static_cast<int>(random() % 60) : 0;
    bool busy = seed % 30 == 0;  // many events between two samples, so the threshold is estimated
    if (busy) options.events = 6000;
    AnalysedTrace analysed(testing::simulate(options).trace);
    const DeviceAnalysis& device = *analysed.devices[0];
    Slow slow;
    for (Step s = 0; s < device.totals.steps(); ++s) {
      slow.heights.push_back(heightOf(stackAt(analysed.trace, device.device, s)));
      ASSERT_EQ(slow.heights.back(), static_cast<double>(device.totals.at(s).active_bytes));
    }
    double steps = static_cast<double>(slow.heights.size());
    double highest = *std::max_element(slow.heights.begin(), slow.heights.end());
    for (int i = 0; i < 6; ++i) {
      view::TileRequest request;
      request.x.columns = 1 + static_cast<uint32_t>(random() % 97);
      request.x.x0 = i == 0 ? 0 : upTo(steps * 1.1) - steps * 0.1;
      request.x.x1 = i == 0 ? steps : request.x.x0 + upTo(i < 3 ? steps : 20) + 0.01;
      bool whole_height = i < 4;
      request.y0_bytes = whole_height ? 0 : upTo(highest);
      request.y1_bytes = whole_height ? highest + 1 : request.y0_bytes + upTo(highest);
      request.row_bytes = std::max(1.0, highest / (1 + upTo(i % 2 ? 900 : 40)));
      if (i == 2) request.most_quads = 60;
      if (busy && i == 0) request.most_quads = 300;
      SCOPED_TRACE(testing::HeapOptions(options).seed);
      std::vector<view::ColumnState> states = view::columnStates(device, request.x);
      std::vector<view::ColumnPeak> peaks = view::columnPeaks(device, request.x);
      for (size_t c = 0; c < states.size(); ++c) {
        ASSERT_EQ(peaks[c].sample, states[c].sample);
        ASSERT_EQ(peaks[c].active_bytes, states[c].span.active_max);
      }
      view::StackTile tile = view::stackTile(analysed, device, request);
      EXPECT_TRUE(tile.quads.size() <= request.most_quads || tile.threshold_bytes > highest);
      double width = (request.x.x1 - request.x.x0) / request.x.columns;
      for (uint32_t c = 0; c < request.x.columns; ++c) {
        double end = c + 1 == request.x.columns ? request.x.x1 : request.x.x0 + width * (c + 1);
        Step sample = slow.sampleOf(request.x.x0 + width * c, end);
        if (sample == model::kNoStep) {
          EXPECT_TRUE(quadsInColumn(tile, c).empty());
        } else {
          checkColumn(analysed.trace, request, tile, c,
                      stackAt(analysed.trace, device.device, sample), whole_height);
        }
      }
      if (tile.quads.size() < 2000) checkRunsAreMaximal(tile);
      if (HasFailure()) return;
    }
  }
}

TEST(TileTwin, PickNeighbourAndShapeAgreeWithTheListOfBlocks) {
  std::mt19937_64 random(12);
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    testing::HeapOptions options{.seed = seed, .events = 200};
    options.drop_first = seed % 2 == 0 ? 50 : 0;
    AnalysedTrace analysed(testing::simulate(options).trace);
    const DeviceAnalysis& device = *analysed.devices[0];
    view::XRange every_step{.x1 = static_cast<double>(device.totals.steps()),
                            .columns = device.totals.steps()};
    uint32_t row = static_cast<uint32_t>(random() % analysed.trace.allocations.size());
    std::vector<double> edges = view::lowerEdges(analysed, device, row, every_step);
    for (Step step = 0; step < device.totals.steps(); ++step) {
      std::vector<Block> blocks = stackAt(analysed.trace, device.device, step);
      EXPECT_EQ(view::blockAt(analysed, device, step, heightOf(blocks)), std::nullopt);
      bool found = false;
      for (size_t i = 0; i < blocks.size(); ++i) {
        using view::Direction;
        EXPECT_EQ(view::blockAt(analysed, device, step, blocks[i].lower), blocks[i].row);
        EXPECT_EQ(view::blockAt(analysed, device, step, blocks[i].upper - 1), blocks[i].row);
        auto up = view::neighbourOf(analysed, device, step, blocks[i].row, Direction::kUp);
        auto down = view::neighbourOf(analysed, device, step, blocks[i].row, Direction::kDown);
        EXPECT_EQ(up.value_or(view::kNoId),
                  i + 1 < blocks.size() ? blocks[i + 1].row : view::kNoId);
        EXPECT_EQ(down.value_or(view::kNoId), i > 0 ? blocks[i - 1].row : view::kNoId);
        if (blocks[i].row == row) {
          found = true;
          EXPECT_EQ(edges[step], blocks[i].lower);
        }
      }
      EXPECT_EQ(std::isnan(edges[step]), !found);
    }
    if (HasFailure()) return;
  }
}

TEST(TileTwin, MarkedBlocksKeepTheirOwnQuads) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    AnalysedTrace analysed(testing::simulate({.seed = seed, .events = 300}).trace);
    const DeviceAnalysis& device = *analysed.devices[0];
    std::vector<uint32_t> rows;
    for (uint32_t row = 0; row < analysed.trace.allocations.size(); row += 7) rows.push_back(row);
    view::MarkSet mark(rows, analysed.trace.allocations.size());
    view::TileRequest request;
    request.x = {.x1 = static_cast<double>(device.totals.steps()), .columns = 50};
    request.y1_bytes = static_cast<double>(device.totals.peakActive().bytes) + 1;
    request.row_bytes = std::max(1.0, request.y1_bytes / 20);
    request.mark = &mark;
    view::StackTile tile = view::stackTile(analysed, device, request);
    ASSERT_FALSE(tile.threshold_raised);
    std::vector<view::ColumnState> columns = view::columnStates(device, request.x);
    for (uint32_t c = 0; c < request.x.columns; ++c) {
      std::vector<Quad> quads = quadsInColumn(tile, c);
      for (const Block& block : stackAt(analysed.trace, device.device, columns[c].sample)) {
        auto has = [&](const Quad& quad) { return quad.allocation == block.row; };
        auto quad = std::find_if(quads.begin(), quads.end(), has);
        if (!mark.has(block.row)) continue;
        ASSERT_NE(quad, quads.end()) << "row " << block.row << " column " << c;
        EXPECT_NE(quad->flags & view::kQuadMarked, 0);
      }
    }
  }
}

}  // namespace
}  // namespace tidegauge
