// The map against slow twins that compute the coverage life by life.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/view_trace.h"
#include "view/filter/filter.h"
#include "view/map/address_map.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::Step;

struct SlowMap {
  const AnalysedTrace& analysed;
  const DeviceAnalysis& device;
  const view::OwnedAxis& axis;

  // How much of the cell blocks cover, all of them.
  double covered(double x0, double x1, double y0, double y1) const {
    const model::Allocations& a = analysed.trace.allocations;
    double area = 0;
    for (uint32_t row = 0; row < a.size(); ++row) {
      auto low = static_cast<double>(axis.axisOf(a.address[row]));
      double high = low + static_cast<double>(a.block_bytes[row]);
      double width =
          std::min<double>(a.last_step[row], x1) - std::max<double>(a.first_step[row], x0);
      double height = std::min(high, y1) - std::max(low, y0);
      if (width > 0 && height > 0) area += width * height;
    }
    return area / ((x1 - x0) * (y1 - y0));
  }
};

double coveredByQuads(const view::MapTile& tile, const view::MapQuestion& q, uint32_t column,
                      uint32_t row) {
  double row_bytes = (q.y1_bytes - q.y0_bytes) / q.rows;
  double area = 0;
  for (const view::MapQuad& quad : tile.quads) {
    if (quad.flags & view::kMapSegment) continue;
    double width =
        std::min<double>(quad.column_end, column + 1) - std::max<double>(quad.column_begin, column);
    double height = std::min<double>(quad.upper_bytes / row_bytes, row + 1) -
                    std::max<double>(quad.lower_bytes / row_bytes, row);
    if (width > 0 && height > 0) area += width * height;
  }
  return area;
}

void checkMap(const AnalysedTrace& analysed, const DeviceAnalysis& device,
              const view::AddressMap& map, const view::MapQuestion& q, double within) {
  view::MapTile tile = map.tile(q);
  ASSERT_EQ(tile.covered.size(), size_t{q.x.columns} * q.rows);
  SlowMap slow{analysed, device, map.axis()};
  double column_steps = (q.x.x1 - q.x.x0) / q.x.columns;
  double row_bytes = (q.y1_bytes - q.y0_bytes) / q.rows;
  for (uint32_t row = 0; row < q.rows; ++row) {
    for (uint32_t column = 0; column < q.x.columns; ++column) {
      double truth =
          slow.covered(q.x.x0 + column * column_steps, q.x.x0 + (column + 1) * column_steps,
                       q.y0_bytes + row * row_bytes, q.y0_bytes + (row + 1) * row_bytes);
      uint8_t level = tile.covered[row * q.x.columns + column];
      double drawn = coveredByQuads(tile, q, column, row) + level / 254.0;
      ASSERT_NEAR(std::min(drawn, 1.0), truth, within + 0.006) << column << " " << row;
      if (within == 0 && truth > 1e-6 && truth < 0.999) {
        EXPECT_NE(level, 255) << "a hole disappeared";
        EXPECT_GT(drawn, 0) << "a block disappeared";
      }
    }
  }
}

TEST(MapTwin, TheMapCoversWhatTheLivesCover) {
  std::mt19937_64 random(5);
  auto upTo = [&](double most) { return std::uniform_real_distribution<>(0, most)(random); };
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    AnalysedTrace analysed = testing::viewTrace(seed);
    const DeviceAnalysis& device = *analysed.devices[0];
    view::AddressMap map(analysed, device);
    double steps = device.totals.steps();
    auto total = static_cast<double>(map.axis().totalBytes());
    for (int i = 0; i < 4; ++i) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " tile " << i);
      view::MapQuestion q;
      q.x = {.x0 = i == 0 ? 0 : upTo(steps * 0.9), .columns = 17};
      q.x.x1 = i == 0 ? steps : q.x.x0 + 1 + upTo(steps - q.x.x0);
      q.y0_bytes = i == 0 ? 0 : upTo(total * 0.9);
      q.y1_bytes = i == 0 ? total : q.y0_bytes + 512 + upTo(total - q.y0_bytes);
      q.rows = 13;
      q.most_quads = i == 3 ? 10 : 8000;
      checkMap(analysed, device, map, q, 0);
      if (HasFailure()) return;
    }
  }
}

TEST(MapTwin, ThePyramidOfTheMapIsNearTheTruth) {
  testing::HeapOptions options{.seed = 9, .events = 60'000};
  AnalysedTrace analysed(testing::simulate(options).trace);
  const DeviceAnalysis& device = *analysed.devices[0];
  view::AddressMap direct(analysed, device);
  view::AddressMap pyramid(analysed, device, false, 100);
  view::MapQuestion q;
  q.x = {.x1 = static_cast<double>(device.totals.steps()), .columns = 12};
  q.y1_bytes = static_cast<double>(direct.axis().totalBytes());
  q.rows = 50;
  view::MapTile exact = direct.tile(q);
  view::MapTile near = pyramid.tile(q);
  double worst = 0;
  double sum_exact = 0;
  double sum_near = 0;
  for (uint32_t row = 0; row < q.rows; ++row) {
    for (uint32_t column = 0; column < q.x.columns; ++column) {
      size_t i = row * q.x.columns + column;
      double a = coveredByQuads(exact, q, column, row) + exact.covered[i] / 254.0;
      double b = coveredByQuads(near, q, column, row) + near.covered[i] / 254.0;
      worst = std::max(worst, std::abs(a - b));
      sum_exact += a;
      sum_near += b;
    }
  }
  // A column of the pyramid is at most as wide as one of the tile: borders may move by it.
  EXPECT_LT(worst, 0.15);
  EXPECT_NEAR(sum_near / sum_exact, 1, 0.02);
  EXPECT_EQ(exact.owned, near.owned);
}

// Parts of the steps and of the addresses, so that bands are used, and a filter.
TEST(MapTwin, TheBandsOfTheMapFindWhatIsThere) {
  std::mt19937_64 random(11);
  auto upTo = [&](double most) { return std::uniform_real_distribution<>(0, most)(random); };
  testing::HeapOptions options{.seed = 9, .events = 60'000};
  AnalysedTrace analysed(testing::simulate(options).trace);
  const DeviceAnalysis& device = *analysed.devices[0];
  view::AddressMap direct(analysed, device);
  view::AddressMap banded(analysed, device, false, 100);
  view::FilterSet filter = view::applyFilter(analysed, view::parseFilter("size:>64KiB").value());
  std::unique_ptr<const view::MapGrid> grid = banded.gridOf(filter);
  ASSERT_NE(grid, nullptr);
  EXPECT_EQ(direct.gridOf(filter), nullptr);
  double steps = device.totals.steps();
  auto total = static_cast<double>(direct.axis().totalBytes());
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    view::MapQuestion q;
    q.x = {.x0 = upTo(steps * 0.9), .columns = 30};
    q.x.x1 = q.x.x0 + 1 + upTo(steps - q.x.x0);
    q.y0_bytes = upTo(total * 0.99);
    q.y1_bytes = q.y0_bytes + 512 + upTo(i % 2 == 0 ? total / 200 : total - q.y0_bytes);
    q.rows = i % 2 == 0 ? 40 : 5000;  // rows lower than a band: no sums, to the bit
    q.filter = &filter;
    view::MapTile exact = direct.tile(q);
    q.passing_grid = grid.get();
    view::MapTile other = banded.tile(q);
    ASSERT_EQ(exact.quads.size(), other.quads.size());
    for (size_t k = 0; k < exact.quads.size(); ++k) {
      ASSERT_EQ(exact.quads[k].id, other.quads[k].id);
      ASSERT_EQ(exact.quads[k].flags, other.quads[k].flags);
    }
    ASSERT_EQ(exact.owned, other.owned);
    for (size_t k = 0; k < exact.covered.size(); ++k) {
      ASSERT_NEAR(exact.covered[k], other.covered[k], 1) << k;  // added up in another order
      ASSERT_NEAR(exact.passing[k], other.passing[k], 1) << k;
    }
  }
}

// With a filter: what passes is added up by sums as well.
TEST(MapTwin, TheGridOfAFilterIsNearTheTruth) {
  testing::HeapOptions options{.seed = 10, .events = 60'000};
  AnalysedTrace analysed(testing::simulate(options).trace);
  const DeviceAnalysis& device = *analysed.devices[0];
  view::AddressMap map(analysed, device, false, 100);
  view::FilterSet filter = view::applyFilter(analysed, view::parseFilter("size:>64KiB").value());
  std::unique_ptr<const view::MapGrid> grid = map.gridOf(filter);
  view::MapQuestion q;
  q.x = {.x1 = static_cast<double>(device.totals.steps()), .columns = 12};
  q.y1_bytes = static_cast<double>(map.axis().totalBytes());
  q.rows = 50;
  q.filter = &filter;
  view::MapTile exact = map.tile(q);
  q.passing_grid = grid.get();
  view::MapTile near = map.tile(q);
  double sum_exact = 0;
  double sum_near = 0;
  for (size_t i = 0; i < exact.passing.size(); ++i) {
    ASSERT_NEAR(exact.passing[i], near.passing[i], 0.15 * 254) << i;
    sum_exact += exact.passing[i];
    sum_near += near.passing[i];
  }
  EXPECT_GT(sum_exact, 0);
  EXPECT_NEAR(sum_near / sum_exact, 1, 0.02);
  EXPECT_EQ(exact.covered, near.covered);
}

}  // namespace
}  // namespace tidegauge
