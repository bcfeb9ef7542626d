// The state, the map, the flame graphs, the event list, the filters and the tables against slow
// twins: everything is counted again, row by row, the obvious way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "analysis/churn.h"
#include "analysis/flame.h"
#include "support/messy_trace.h"
#include "support/simulated_heap.h"
#include "view/address_map.h"
#include "view/event_list.h"
#include "view/filter.h"
#include "view/stack_sums.h"
#include "view/state_at.h"
#include "view/table.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::Step;

AnalysedTrace traceOf(uint64_t seed) {
  testing::HeapOptions options{.seed = seed, .events = 60 + static_cast<int>(seed * 37 % 400)};
  options.expandable = seed % 3 == 0;
  options.drop_first = seed % 2 == 0 ? 40 : 0;
  return AnalysedTrace(testing::simulate(options).trace);
}

// ---- state ---------------------------------------------------------------------------------------

// What a byte is, read off the parts of one bar: every byte of the span belongs to one part.
void checkBar(const model::Trace& trace, const view::State& state, uint32_t bar,
              const std::set<uint32_t>& live) {
  const view::StateSegment& segment = state.segments[bar];
  uint64_t at = 0;
  uint64_t live_bytes = 0;
  uint64_t free_bytes = 0;
  for (const view::StatePart& part : state.parts) {
    if (part.segment != bar) continue;
    EXPECT_EQ(part.offset_bytes, at) << "parts leave no gap";
    at += part.size_bytes;
    live_bytes += part.live_bytes;
    if (part.kind == view::PartKind::kFree) free_bytes += part.size_bytes;
    if (part.kind != view::PartKind::kLive && part.kind != view::PartKind::kPending) continue;
    EXPECT_TRUE(live.contains(part.row));
    EXPECT_EQ(segment.address + part.offset_bytes, trace.allocations.address[part.row]);
    EXPECT_EQ(part.rounding_bytes, trace.allocations.block_bytes[part.row] -
                                       trace.allocations.requested_bytes[part.row]);
  }
  EXPECT_EQ(at, segment.span_bytes);
  EXPECT_EQ(live_bytes, segment.sums.live_bytes);
  EXPECT_EQ(free_bytes, segment.sums.free_bytes);
  EXPECT_EQ(segment.sums.pinned_bytes + segment.sums.releasable_bytes, segment.sums.free_bytes);
  EXPECT_EQ(segment.sums.pinned_bytes > 0, segment.pin_count > 0);
}

TEST(ViewsTwin, TheStateHoldsEveryLiveByteOnce) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    AnalysedTrace analysed = traceOf(seed);
    const DeviceAnalysis& device = *analysed.devices[0];
    for (Step step = 0; step < device.totals.steps(); step += 7) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " step " << step);
      std::set<uint32_t> live;
      for (uint32_t row = 0; row < analysed.trace.allocations.size(); ++row) {
        if (analysis::liveAfter(analysed.trace, row, step)) live.insert(row);
      }
      view::StateQuestion question{.step = step, .sort = view::StateSort::kSize, .limit = 1000};
      view::State state = view::stateAt(analysed, device, question);
      analysis::Totals totals = device.totals.at(step);
      EXPECT_EQ(state.sums.owned_bytes, totals.reserved_bytes);
      EXPECT_EQ(state.sums.live_bytes, totals.active_bytes);
      EXPECT_EQ(state.sums.requested_bytes, totals.requested_bytes);
      EXPECT_EQ(state.sums.live_bytes - state.sums.pending_bytes, totals.allocated_bytes);
      EXPECT_EQ(state.sums.blocks, live.size());
      EXPECT_EQ(state.segments.size(), state.segments_total);
      for (uint32_t bar = 0; bar < state.segments.size(); ++bar) {
        checkBar(analysed.trace, state, bar, live);
      }
      // Merged to a pixel that swallows much, the sums stay.
      question.pixel_bytes = 1 << 20;
      view::State coarse = view::stateAt(analysed, device, question);
      EXPECT_LE(coarse.parts.size(), state.parts.size());
      uint64_t coarse_live = 0;
      uint64_t coarse_blocks = 0;
      for (const view::StatePart& part : coarse.parts) {
        coarse_live += part.live_bytes;
        coarse_blocks += part.blocks;
      }
      EXPECT_EQ(coarse_live, totals.active_bytes);
      EXPECT_EQ(coarse_blocks, live.size());
      // A viewport of the list is that part of the list.
      question.offset = state.segments_total / 2;
      question.limit = 2;
      view::State window = view::stateAt(analysed, device, question);
      for (size_t i = 0; i < window.segments.size(); ++i) {
        EXPECT_EQ(window.segments[i].address, state.segments[question.offset + i].address);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(ViewsTwin, NoStateOfAContradictoryTraceFails) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    AnalysedTrace analysed(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0}));
    for (const auto& device : analysed.devices) {
      for (Step step : {0U, 20U, 75U, 1000U}) {
        view::State state = view::stateAt(analysed, *device, {.step = step, .pixel_bytes = 512});
        EXPECT_LE(state.parts.size(), 8000U);
      }
      view::AddressMap map(analysed, *device);
      view::MapQuestion question;
      question.x = {.x1 = 150, .columns = 20};
      question.y1_bytes = static_cast<double>(map.axis().totalBytes()) + 1;
      question.rows = 20;
      map.tile(question);
      view::tableOf(analysed, *device, "segments", nullptr);
      view::tableOf(analysed, *device, "stacks", nullptr);
    }
  }
}

// ---- map -----------------------------------------------------------------------------------------

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

TEST(ViewsTwin, TheMapCoversWhatTheLivesCover) {
  std::mt19937_64 random(5);
  auto upTo = [&](double most) { return std::uniform_real_distribution<>(0, most)(random); };
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    AnalysedTrace analysed = traceOf(seed);
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

TEST(ViewsTwin, ThePyramidOfTheMapIsNearTheTruth) {
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
TEST(ViewsTwin, TheBandsOfTheMapFindWhatIsThere) {
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
TEST(ViewsTwin, TheGridOfAFilterIsNearTheTruth) {
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

// ---- flame ---------------------------------------------------------------------------------------

std::vector<std::string> slowPath(const AnalysedTrace& analysed, model::StackId stack) {
  std::vector<std::string> path;
  for (size_t i = analysed.trace.stacks.depth(stack); i-- > 0;) {
    model::FrameId frame = analysed.trace.stacks.framesOf(stack)[i];
    std::string text = std::to_string(frame.value);
    if (analysed.labels.isNoise(frame)) continue;
    if (path.empty() || path.back() != text) path.push_back(text);
  }
  return path;
}

TEST(ViewsTwin, TheFlameAddsUpWhatIsLive) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    AnalysedTrace analysed = traceOf(seed);
    const DeviceAnalysis& device = *analysed.devices[0];
    const model::Allocations& a = analysed.trace.allocations;
    Step step = device.totals.peakActive().step;
    std::map<std::vector<std::string>, uint64_t> slow;  // way from the outside → bytes
    uint64_t without_stack = 0;
    uint64_t all = 0;
    for (uint32_t row = 0; row < a.size(); ++row) {
      if (!analysis::liveAfter(analysed.trace, row, step)) continue;
      all += a.block_bytes[row];
      if (!a.stack[row].valid() || a.has(row, model::kStackIsOfFree)) {
        without_stack += a.block_bytes[row];
        continue;
      }
      std::vector<std::string> way;
      for (const std::string& frame : slowPath(analysed, a.stack[row])) {
        way.push_back(frame);
        slow[way] += a.block_bytes[row];
      }
    }
    std::vector<uint32_t> rows = device.live.liveAt(step);
    analysis::FlameOptions options;
    options.least_share = 0;
    analysis::Flame flame =
        analysis::flameOf(analysed, analysis::weightsOf(analysed.trace, rows), options);
    EXPECT_EQ(flame.nodes[0].weight.plus_bytes, all);
    std::vector<std::vector<std::string>> way_of(flame.nodes.size());
    size_t frames = 0;
    for (size_t i = 1; i < flame.nodes.size(); ++i) {
      const analysis::FlameNode& node = flame.nodes[i];
      ASSERT_LT(node.parent, i);
      if (node.no_stack) {
        EXPECT_EQ(node.weight.plus_bytes, without_stack);
        continue;
      }
      way_of[i] = way_of[node.parent];
      way_of[i].push_back(std::to_string(node.frame.value));
      EXPECT_EQ(slow[way_of[i]], node.weight.plus_bytes);
      ++frames;
    }
    EXPECT_EQ(frames, slow.size());
    options.most_nodes = 3;
    analysis::Flame cut =
        analysis::flameOf(analysed, analysis::weightsOf(analysed.trace, rows), options);
    EXPECT_LE(cut.nodes.size(), 7U);
    uint64_t self = 0;
    for (const analysis::FlameNode& node : cut.nodes) self += node.self_weight.plus_bytes;
    EXPECT_EQ(self, all) << "what is summed up does not disappear";
    if (HasFailure()) return;
  }
}

TEST(ViewsTwin, GrowthAndChurnAgreeWithLists) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    AnalysedTrace analysed = traceOf(seed);
    const DeviceAnalysis& device = *analysed.devices[0];
    const model::Allocations& a = analysed.trace.allocations;
    Step from = device.totals.steps() / 4;
    Step to = device.totals.steps() * 3 / 4;
    uint64_t churn = 0;
    uint64_t born = 0;
    for (uint32_t row = 0; row < a.size(); ++row) {
      if (!a.has(row, model::kAllocSeen) || a.first_step[row] < from || a.first_step[row] >= to) {
        continue;
      }
      born += a.block_bytes[row];
      if (a.last_step[row] < to) churn += a.block_bytes[row];
    }
    auto bytesOf = [&](const std::vector<uint32_t>& rows) {
      uint64_t bytes = 0;
      for (const analysis::StackWeight& w : analysis::weightsOf(analysed.trace, rows)) {
        bytes += w.weight.plus_bytes;
      }
      return bytes;
    };
    EXPECT_EQ(bytesOf(analysis::allocatedIn(analysed.trace, device, from, to)), born);
    EXPECT_EQ(bytesOf(analysis::churnIn(analysed.trace, device, from, to)), churn);
    int64_t grew = 0;
    for (const analysis::StackWeight& w :
         analysis::growthOf(analysed.trace, device.live.liveAt(from), device.live.liveAt(to))) {
      EXPECT_TRUE(w.weight.plus_bytes == 0 || w.weight.minus_bytes == 0);
      grew += static_cast<int64_t>(w.weight.plus_bytes - w.weight.minus_bytes);
    }
    EXPECT_EQ(grew, static_cast<int64_t>(device.totals.at(to).active_bytes -
                                         device.totals.at(from).active_bytes));
    if (HasFailure()) return;
  }
}

// ---- events, filters, tables ---------------------------------------------------------------------

TEST(ViewsTwin, TheEventListAgreesWithAScan) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    AnalysedTrace analysed = traceOf(seed);
    const model::Device& device = analysed.devices[0]->device;
    const model::Events& e = analysed.trace.events;
    uint64_t address = analysed.trace.allocations.address[seed % analysed.trace.allocations.size()];
    view::EventFilter filter;
    filter.actions = view::actionBit(model::Action::kAlloc);
    filter.size = view::SizeRange{1024, 1 << 20, false};
    std::vector<Step> steps = view::matchingSteps(analysed, device, filter);
    std::vector<Step> slow;
    std::vector<Step> at_address;
    for (Step s = 0; s < device.steps(); ++s) {
      uint64_t bytes = e.size_bytes[s];
      if (e.action[s] == model::Action::kAlloc && bytes >= 1024 && bytes <= 1 << 20) {
        slow.push_back(s);
      }
      if (e.action[s] <= model::Action::kFree && e.address[s] == address) at_address.push_back(s);
    }
    EXPECT_EQ(steps, slow);
    view::EventFilter around;
    around.actions = view::actionBit(model::Action::kAlloc) |
                     view::actionBit(model::Action::kFreeRequested) |
                     view::actionBit(model::Action::kFreeCompleted);
    around.address = address;
    steps = view::matchingSteps(analysed, device, around);
    EXPECT_TRUE(std::includes(steps.begin(), steps.end(), at_address.begin(), at_address.end()));
  }
}

TEST(ViewsTwin, FiltersAgreeWithTheColumns) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    AnalysedTrace analysed = traceOf(seed);
    const model::Allocations& a = analysed.trace.allocations;
    auto filter = view::parseFilter("size:>=2048 life:..50 -provenance:older born:10..");
    ASSERT_TRUE(filter.ok()) << filter.error().what;
    view::FilterSet set = view::applyFilter(analysed, filter.value());
    uint64_t count = 0;
    for (uint32_t row = 0; row < a.size(); ++row) {
      bool passes = a.block_bytes[row] >= 2048 && a.last_step[row] - a.first_step[row] <= 50 &&
                    !model::isOlder(a.provenance[row]) && a.has(row, model::kAllocSeen) &&
                    a.first_step[row] >= 10;
      EXPECT_EQ(set.has(row), passes) << "row " << row;
      count += passes;
    }
    EXPECT_EQ(set.count(), count);
  }
}

TEST(ViewsTwin, StackSumsAgreeWithEveryStep) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    AnalysedTrace analysed = traceOf(seed);
    const DeviceAnalysis& device = *analysed.devices[0];
    const model::Allocations& a = analysed.trace.allocations;
    for (const view::StackSum& sum : view::stackSums(analysed, device, nullptr)) {
      auto isOf = [&](uint32_t row) {
        bool known = a.stack[row].valid() && !a.has(row, model::kStackIsOfFree);
        return known ? a.stack[row] == sum.stack : !sum.stack.valid();
      };
      uint64_t peak = 0;
      Step peak_step = 0;
      for (Step step = 0; step < device.totals.steps(); ++step) {
        uint64_t live = 0;
        for (uint32_t row = 0; row < a.size(); ++row) {
          if (isOf(row) && analysis::liveAfter(analysed.trace, row, step))
            live += a.block_bytes[row];
        }
        if (live > peak) {
          peak = live;
          peak_step = step;
        }
        if (step + 1 == device.totals.steps()) {
          EXPECT_EQ(sum.at_end_bytes, live);
        }
        if (step == device.totals.peakActive().step) {
          EXPECT_EQ(sum.at_peak_bytes, live);
        }
      }
      EXPECT_EQ(sum.peak_bytes, peak);
      EXPECT_EQ(sum.peak_step, peak_step);
    }
    auto table = view::tableOf(analysed, device, "stacks", nullptr);
    ASSERT_TRUE(table.has_value());
    const view::TableColumn* column = table->find("peak_bytes");
    std::vector<uint32_t> order = view::orderOf(*table, *column, true);
    for (size_t i = 1; i < order.size(); ++i) {
      EXPECT_GE(*column->number(order[i - 1]), *column->number(order[i]));
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tidegauge
