// Comparisons against a slow twin: random pairs of recordings, every row counted again from the
// texts of the stacks, the obvious way.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analysis/compare/diff.h"
#include "analysis/trace/peak.h"
#include "support/messy_trace.h"
#include "support/simulated_heap.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::Diff;
using analysis::DiffSide;

AnalysedTrace heapOf(uint64_t seed) {
  testing::HeapOptions options{.seed = seed, .events = 50 + static_cast<int>(seed * 31 % 300)};
  options.expandable = seed % 3 == 0;
  options.drop_first = seed % 2 == 0 ? 30 : 0;
  options.stacks = 3 + static_cast<int>(seed % 9);
  return AnalysedTrace(testing::simulate(options).trace);
}

DiffSide sideAt(const AnalysedTrace& analysed, const std::string& place) {
  auto devices = analysis::diffDevices(analysed, std::nullopt);
  EXPECT_TRUE(devices.ok());
  auto side = analysis::diffSide(analysed, devices.value(), place);
  EXPECT_TRUE(side.ok());
  return std::move(side).value();
}

// "function file:line" of every frame, innermost first; "-" and "older" without a stack.
std::string textOf(const AnalysedTrace& analysed, uint64_t row) {
  const model::Allocations& a = analysed.trace.allocations;
  bool of_free = a.has(row, model::kStackIsOfFree);
  std::string text = of_free ? std::string() : analysed.labels.text(a.stack[row]);
  if (!text.empty()) return text;
  return model::isOlder(a.provenance[row]) ? "older" : "-";
}

using Sums = std::map<std::string, std::pair<int64_t, int64_t>>;  // bytes, blocks

// Checks every allocation of the file for being live at the place.
Sums slowSums(const DiffSide& side) {
  Sums sums;
  const AnalysedTrace& analysed = *side.analysed;
  for (const analysis::DiffPoint& point : side.points) {
    const model::Device& device = point.device->device;
    for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
      auto id = static_cast<uint32_t>(row);
      if (device.steps() > 0 && !analysis::isLiveAt(analysed.trace, id, point.place())) continue;
      auto& of = sums[textOf(analysed, row)];
      of.first += static_cast<int64_t>(analysed.trace.allocations.block_bytes[row]);
      of.second++;
    }
  }
  return sums;
}

Sums sumsOfRows(const Diff& diff, bool of_a) {
  Sums sums;
  for (const analysis::StackRow& row : diff.by_stack) {
    const analysis::Held& held = of_a ? row.a : row.b;
    if (held.blocks == 0) continue;
    const auto& stacks = of_a ? row.stacks_a : row.stacks_b;
    const AnalysedTrace& analysed = *(of_a ? diff.a : diff.b).analysed;
    std::string text = !stacks.empty() ? analysed.labels.text(stacks.front())
                       : row.older     ? "older"
                                       : "-";
    auto& of = sums[text];
    of.first += static_cast<int64_t>(held.bytes);
    of.second += static_cast<int64_t>(held.blocks);
  }
  return sums;
}

// The change of each stack's row; in the other direction, only the sign differs.
std::multimap<std::pair<uint64_t, uint64_t>, int64_t> changesOf(const Diff& diff, bool turned) {
  std::multimap<std::pair<uint64_t, uint64_t>, int64_t> changes;
  for (const analysis::StackRow& row : diff.by_stack) {
    auto key = turned ? std::pair(row.b.bytes, row.a.bytes) : std::pair(row.a.bytes, row.b.bytes);
    changes.emplace(key, turned ? -row.changeBytes() : row.changeBytes());
  }
  return changes;
}

void check(const AnalysedTrace& trace_a, const AnalysedTrace& trace_b, const std::string& place_a,
           const std::string& place_b) {
  Diff diff = analysis::diffOf(sideAt(trace_a, place_a), sideAt(trace_b, place_b));
  Diff turned = analysis::diffOf(sideAt(trace_b, place_b), sideAt(trace_a, place_a));
  EXPECT_EQ(sumsOfRows(diff, true), slowSums(diff.a));
  EXPECT_EQ(sumsOfRows(diff, false), slowSums(diff.b));
  EXPECT_EQ(changesOf(diff, false), changesOf(turned, true)) << "diff(A, B) = −diff(B, A)";

  // The identity, whatever the rows are by.
  const analysis::Totals& a = diff.a.totals;
  const analysis::Totals& b = diff.b.totals;
  EXPECT_TRUE(diff.addsUp());
  auto adds_up = [&](const auto& rows, uint64_t total_a, uint64_t total_b) {
    return analysis::addsUp(analysis::sumsOf(rows), total_a, total_b);
  };
  EXPECT_TRUE(adds_up(diffByCategory(diff.a, diff.b), a.active_bytes, b.active_bytes));
  EXPECT_TRUE(adds_up(diffBySize(diff.a, diff.b), a.active_bytes, b.active_bytes));
  EXPECT_TRUE(adds_up(diffBySegment(diff.a, diff.b), a.reserved_bytes, b.reserved_bytes));

  // No stack is in two rows; the joined trace has one stack per row.
  analysis::JoinedStacks joined(diff.a, diff.b, diff.by_stack);
  analysis::Flame flame =
      analysis::flameOf(joined.trace(), diffWeights(joined, diff.by_stack, false), {});
  const analysis::FlameWeight& all = flame.nodes[0].weight;
  EXPECT_EQ(all.same_bytes + all.minus_bytes, a.active_bytes);
  EXPECT_EQ(all.same_bytes + all.plus_bytes, b.active_bytes);

  Diff same = analysis::diffOf(sideAt(trace_a, place_a), sideAt(trace_a, place_a));
  EXPECT_EQ(same.stacks.differing(), 0u) << "diff(A, A) is empty";
  for (const analysis::StackRow& row : same.by_stack) EXPECT_EQ(row.a, row.b);
}

TEST(DiffTwin, RandomPairs) {
  std::mt19937_64 random(11);
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    AnalysedTrace a = heapOf(seed);
    AnalysedTrace b = heapOf(random() % 200);
    SCOPED_TRACE(seed);
    check(a, b, "peak", "peak");
    check(a, b, "end", "peak");
    Diff own = analysis::diffOf(sideAt(a, "step:0"), sideAt(a, "end"));
    EXPECT_TRUE(own.addsUp()) << "two places of one recording";
    EXPECT_EQ(sumsOfRows(own, true), slowSums(own.a));
  }
}

TEST(DiffTwin, RecordingsThatContradictThemselves) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    AnalysedTrace a(testing::messyTrace({.seed = seed, .wild = seed % 3 == 0}));
    AnalysedTrace b(testing::messyTrace({.seed = seed + 1, .wild = seed % 5 == 0}));
    if (a.devices.empty() || b.devices.empty()) continue;
    SCOPED_TRACE(seed);
    Diff diff = analysis::diffOf(sideAt(a, "peak"), sideAt(b, "peak"));
    EXPECT_EQ(sumsOfRows(diff, true), slowSums(diff.a));
    EXPECT_EQ(sumsOfRows(diff, false), slowSums(diff.b));
    // Rows of any grouping have the same total: the live bytes.
    analysis::DiffSums by_stack = diff.stacks;
    for (const auto& rows : {diffByCategory(diff.a, diff.b), diffBySize(diff.a, diff.b)}) {
      EXPECT_EQ(analysis::sumsOf(rows).change_bytes, by_stack.change_bytes);
      EXPECT_EQ(analysis::sumsOf(rows).bytes_a, by_stack.bytes_a);
    }
    diffBySegment(diff.a, diff.b);
    analysis::diffEvents(a, *a.devices[0], b, *b.devices[0]);
  }
}

}  // namespace
}  // namespace tidegauge
