#include "analysis/compare/diff.h"

#include <gtest/gtest.h>

#include "analysis/compare/diff_ranks.h"
#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using model::SegmentKind;
using testing::TraceBuilder;

DiffSide sideAt(const AnalysedTrace& analysed, const std::string& place,
                std::optional<int32_t> device = std::nullopt) {
  auto devices = diffDevices(analysed, device);
  EXPECT_TRUE(devices.ok());
  auto side = diffSide(analysed, devices.value(), place);
  EXPECT_TRUE(side.ok()) << place << ": " << side.error().what;
  return std::move(side).value();
}

std::string errorAt(const AnalysedTrace& analysed, const std::string& place,
                    std::optional<int32_t> device = std::nullopt) {
  auto devices = diffDevices(analysed, device);
  if (!devices.ok()) return devices.error().what;
  auto side = diffSide(analysed, devices.value(), place);
  return side.ok() ? "found step " + std::to_string(side.value().points[0].step)
                   : side.error().what;
}

// f 4 MiB at step 1, phase "work" twice, 6 MiB at the end of the first, OOM, then f is freed.
model::Trace story() {
  TraceBuilder b;
  b.time(1'000'000).segmentAlloc(kA, 20 * kMiB);                        // 0
  b.stack({"f@m.py:1", "main@t.py:9"}).alloc(kA, 4 * kMiB);             // 1
  b.stack({"g@m.py:5", "main@t.py:9"}).alloc(kA + 8 * kMiB, 2 * kMiB);  // 2
  b.oom(kMiB, 40 * kMiB);                                               // 3
  b.free(kA, 4 * kMiB);                                                 // 4, 5
  b.noStack().alloc(kA, kMiB);                                          // 6
  b.annotation("work", 1'000'001, 1'000'003).annotation("work", 1'000'005, 1'000'006);
  b.annotation("12", 1'000'006, 1'000'006);
  return b.build();
}

TEST(DiffSide, PlacesHaveNames) {
  AnalysedTrace analysed(story());
  EXPECT_EQ(sideAt(analysed, "peak").points[0].step, 2u);
  EXPECT_EQ(sideAt(analysed, "end").points[0].step, 6u);
  EXPECT_EQ(sideAt(analysed, "oom").points[0].step, 3u);
  EXPECT_EQ(sideAt(analysed, "phase:work").points[0].step, 2u) << "its highest point";
  EXPECT_EQ(sideAt(analysed, "phase:work").notes.size(), 1u) << "there are two of that name";
  EXPECT_EQ(sideAt(analysed, "phase:work#2").points[0].step, 4u) << "the state that it begins with";
  EXPECT_EQ(sideAt(analysed, "phase:12").points[0].step, 6u) << "a name, not a step";
  EXPECT_EQ(sideAt(analysed, "step:4").points[0].step, 4u);
  EXPECT_EQ(sideAt(analysed, "4").points[0].step, 4u);
  EXPECT_EQ(sideAt(analysed, "time:2us").points[0].step, 2u);
  EXPECT_EQ(sideAt(analysed, "0.000002s").points[0].step, 2u);
  EXPECT_EQ(sideAt(analysed, "peak").totals.active_bytes, 6 * kMiB);
}

TEST(DiffSide, PlacesThatAreNotThereAreErrors) {
  AnalysedTrace analysed(story());
  EXPECT_EQ(errorAt(analysed, "top"), "“top” is not a point that diff knows");
  EXPECT_EQ(errorAt(analysed, ""), "“” is not a point that diff knows");
  EXPECT_EQ(errorAt(analysed, "step:x"), "“step:x” is not a point that diff knows");
  EXPECT_EQ(errorAt(analysed, "step:"), "“step:” is not a point that diff knows");
  EXPECT_EQ(errorAt(analysed, "phase:"), "phase: needs the name of a phase");
  EXPECT_EQ(errorAt(analysed, "step:7"), "cuda:0 has no step 7");
  EXPECT_EQ(errorAt(analysed, "phase:work#3"), "cuda:0 has no “work#3”");
  EXPECT_EQ(errorAt(analysed, "peak", 3), "there is no device 3");
  AnalysedTrace calm(TraceBuilder().alloc(kA, 512).build());
  EXPECT_EQ(errorAt(calm, "oom"), "cuda:0 did not run out of memory");
  AnalysedTrace nothing{model::Trace()};
  EXPECT_EQ(errorAt(nothing, "peak"), "the file has no device");
}

TEST(DiffSide, GpusAreAddedUpPinnedMemoryIsNot) {
  TraceBuilder b;
  b.device(0).alloc(kA, kMiB).device(1).alloc(kA, 2 * kMiB).free(kA, 2 * kMiB);
  b.device(-1).alloc(kA, 4 * kMiB);
  model::Trace trace = b.build();
  for (model::Device& device : trace.devices) {
    if (device.ordinal == -1) device.kind = model::DeviceKind::kPinnedHost;
  }
  AnalysedTrace analysed(std::move(trace));
  DiffSide all = sideAt(analysed, "peak");
  EXPECT_EQ(all.points.size(), 2u);
  EXPECT_EQ(all.totals.active_bytes, 3 * kMiB) << "each at its own peak";
  EXPECT_EQ(sideAt(analysed, "peak", -1).totals.active_bytes, 4 * kMiB);
}

TEST(Diff, RowsSayWhatBecameOfEachStack) {
  AnalysedTrace analysed(story());
  Diff diff = diffOf(sideAt(analysed, "peak"), sideAt(analysed, "end"));
  ASSERT_EQ(diff.by_stack.size(), 3u);
  EXPECT_EQ(diff.by_stack[0].change(), Change::kGone);
  EXPECT_EQ(diff.by_stack[0].changeBytes(), -4 * static_cast<int64_t>(kMiB));
  EXPECT_EQ(diff.by_stack[1].change(), Change::kNew);
  EXPECT_TRUE(diff.by_stack[1].stacks_b.empty()) << "no stack recorded";
  EXPECT_EQ(diff.by_stack[2].change(), Change::kSame);
  EXPECT_TRUE(diff.addsUp());
  EXPECT_EQ(diff.stacks.change_bytes, -3 * static_cast<int64_t>(kMiB));
  EXPECT_EQ(diff.stacks.moreBytes(), kMiB);
  EXPECT_EQ(diff.stacks.lessBytes(), 4 * kMiB);
  EXPECT_EQ(diff.stacks.differing(), 2u);
  EXPECT_FALSE(diff.isAlike());
  EXPECT_FALSE(diff.events) << "two places of one device";
}

TEST(Diff, ARecordingIsLikeItself) {
  AnalysedTrace a(story());
  AnalysedTrace b(story());
  for (const AnalysedTrace* other : {&a, &b}) {
    Diff diff = diffOf(sideAt(a, "peak"), sideAt(*other, "peak"));
    EXPECT_EQ(diff.stacks.differing(), 0u);
    EXPECT_EQ(diff.stacks.grossBytes(), 0u);
    EXPECT_TRUE(diff.isAlike());
  }
}

TEST(Diff, AlikeIsOnePercentOfTheLarger) {
  auto withBytes = [](uint64_t bytes) {
    return AnalysedTrace(TraceBuilder().stack({"f@m.py:1"}).alloc(kA, bytes).build());
  };
  AnalysedTrace a = withBytes(99 * 512), b = withBytes(100 * 512), c = withBytes(101 * 512);
  EXPECT_TRUE(diffOf(sideAt(a, "end"), sideAt(b, "end")).isAlike()) << "1 of 100";
  EXPECT_FALSE(diffOf(sideAt(a, "end"), sideAt(c, "end")).isAlike()) << "2 of 101";
}

TEST(Diff, SizesAreClassesOfPowersOfTwo) {
  AnalysedTrace a(TraceBuilder().alloc(kA, kMiB).alloc(kA + 8 * kMiB, 2 * kMiB - 512).build());
  AnalysedTrace b(TraceBuilder().alloc(kA, 2 * kMiB).build());
  std::vector<NamedRow> rows = diffBySize(sideAt(a, "end"), sideAt(b, "end"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].key, "1048576");
  EXPECT_EQ(rows[0].label, "1.0 MiB – 2.0 MiB");
  EXPECT_EQ(rows[0].a, (Held{3 * kMiB - 512, 2}));
  EXPECT_EQ(rows[1].key, "2097152");
  EXPECT_EQ(rows[1].change(), Change::kNew);
}

TEST(Diff, SegmentsAreClassesAndAddUpToReserved) {
  TraceBuilder first, second;
  first.segmentAlloc(kA, 2 * kMiB).segmentAlloc(kA + 100 * kMiB, 20 * kMiB);
  first.finalSegment(kA, 2 * kMiB, SegmentKind::kSmall)
      .block(2 * kMiB, model::BlockState::kInactive);
  first.finalSegment(kA + 100 * kMiB, 20 * kMiB);
  first.block(20 * kMiB, model::BlockState::kInactive);
  second.segmentAlloc(kA + 100 * kMiB, 20 * kMiB).pool(0, 7);
  second.finalSegment(kA + 100 * kMiB, 20 * kMiB);
  second.block(20 * kMiB, model::BlockState::kInactive);
  AnalysedTrace a(first.build()), b(second.build());
  DiffSide side_a = sideAt(a, "end"), side_b = sideAt(b, "end");
  std::vector<NamedRow> rows = diffBySegment(side_a, side_b);
  EXPECT_TRUE(addsUp(sumsOf(rows), side_a.totals.reserved_bytes, side_b.totals.reserved_bytes));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].key, "large, 16777216, default stream, default pool");
  EXPECT_EQ(rows[1].key, "large, 16777216, default stream, own pool");
  EXPECT_EQ(rows[2].a, (Held{2 * kMiB, 1}));
}

TEST(Diff, EventsAreComparedFromTheStart) {
  AnalysedTrace a(story());
  TraceBuilder longer;
  longer.segmentAlloc(kA + kMiB, 20 * kMiB);  // at another address
  longer.stack({"f@/elsewhere/m.py:1", "main@t.py:9"}).alloc(kA + kMiB, 4 * kMiB);
  longer.stack({"g@m.py:5", "main@t.py:9"}).alloc(kA + 9 * kMiB, 3 * kMiB);
  AnalysedTrace b(longer.build());
  Diff diff = diffOf(sideAt(a, "end"), sideAt(b, "end"));
  ASSERT_TRUE(diff.events);
  EXPECT_EQ(diff.events->same, 2u);
  EXPECT_FALSE(diff.events->allSame());
  EXPECT_EQ(diff.events->length_us_a, 6u);
  EXPECT_EQ(diff.events->length_us_b, std::nullopt) << "no times";
  EXPECT_FALSE(diff.events->pause);
}

TEST(Diff, ThePauseIsWhereTwoEqualRecordingsPart) {
  TraceBuilder first, second;
  first.time(0).alloc(kA, 512).time(10).alloc(kA + 512, 512).time(500).free(kA, 512);
  second.time(70).alloc(kA, 512).time(90).alloc(kA + 512, 512).time(180).free(kA, 512);
  AnalysedTrace a(first.build()), b(second.build());
  Diff diff = diffOf(sideAt(a, "end"), sideAt(b, "end"));
  ASSERT_TRUE(diff.events && diff.events->allSame());
  ASSERT_TRUE(diff.events->pause);
  EXPECT_EQ(diff.events->pause->step, 2u);
  EXPECT_EQ(diff.events->pause->us_a, 490u);
  EXPECT_EQ(diff.events->pause->us_b, 90u);
}

TEST(Diff, WeightsKeepBothSides) {
  AnalysedTrace analysed(story());
  Diff diff = diffOf(sideAt(analysed, "peak"), sideAt(analysed, "end"));
  JoinedStacks joined(diff.a, diff.b, diff.by_stack);
  Flame flame = flameOf(joined.trace(), diffWeights(joined, diff.by_stack, false), {});
  const FlameWeight& all = flame.nodes[0].weight;
  EXPECT_EQ(all.same_bytes + all.minus_bytes, diff.a.totals.active_bytes);
  EXPECT_EQ(all.same_bytes + all.plus_bytes, diff.b.totals.active_bytes);
  EXPECT_EQ(all.grossBytes(), 7 * kMiB) << "the larger of A and B, stack by stack";
  Flame changes = flameOf(joined.trace(), diffWeights(joined, diff.by_stack, true), {});
  EXPECT_EQ(changes.nodes[0].weight.grossBytes(), diff.stacks.grossBytes());
}

// ---- ranks --------------------------------------------------------------------------------------

struct RankHeld {
  uint64_t f_bytes;
  uint64_t g_bytes;
};

RankTable tableOf(const std::vector<RankHeld>& ranks) {
  std::vector<std::unique_ptr<AnalysedTrace>> traces;
  std::vector<DiffSide> sides;
  for (const RankHeld& held : ranks) {
    TraceBuilder b;
    b.stack({"f@/r" + std::to_string(traces.size()) + "/m.py:1"}).alloc(kA, held.f_bytes);
    b.stack({"g@m.py:2"}).alloc(kA + 512 * kMiB, held.g_bytes);
    traces.push_back(std::make_unique<AnalysedTrace>(b.build()));
    sides.push_back(sideAt(*traces.back(), "end"));
  }
  RankTable table = ranksOf(sides);
  for (RankRow& row : table.rows) row.trace = nullptr;  // it ends here
  return table;
}

TEST(DiffRanks, TheOddOneIsNamed) {
  std::vector<RankHeld> ranks;
  for (uint64_t mib : {100, 100, 130, 100}) ranks.push_back({mib * kMiB, 50 * kMiB});
  RankTable table = tableOf(ranks);
  EXPECT_EQ(table.oddOne(), 2u);
  EXPECT_EQ(table.ranks[2].distance_bytes, 30 * kMiB);
  EXPECT_EQ(table.ranks[2].deviations, std::nullopt) << "the others are the same";
  EXPECT_EQ(table.median_active_bytes, 150 * kMiB);
  EXPECT_EQ(table.rows[0].spread_bytes, 30 * kMiB);
}

TEST(DiffRanks, EqualTotalsMayBeHeldByOthers) {
  std::vector<RankHeld> ranks;
  for (uint64_t mib : {100, 100, 120}) ranks.push_back({mib * kMiB, (200 - mib) * kMiB});
  EXPECT_EQ(tableOf(ranks).oddOne(), 2u);
}

TEST(DiffRanks, WhereAllDifferNoneStandsOut) {
  std::vector<RankHeld> ranks;
  for (uint64_t mib : {100, 120, 145, 160}) ranks.push_back({mib * kMiB, 50 * kMiB});
  RankTable table = tableOf(ranks);
  EXPECT_EQ(table.oddOne(), std::nullopt);
  EXPECT_TRUE(table.ranks[0].deviations.has_value());
}

TEST(DiffRanks, LessThanOnePercentIsNothing) {
  for (auto [odd_kib, stands_out] : {std::pair{1000, false}, {1024, false}, {1100, true}}) {
    std::vector<RankHeld> ranks;
    for (int i = 0; i < 4; ++i) {
      uint64_t more = i == 3 ? static_cast<uint64_t>(odd_kib) * 1024 : 0;
      ranks.push_back({50 * kMiB + more, 50 * kMiB});
    }
    EXPECT_EQ(tableOf(ranks).oddOne().has_value(), stands_out) << odd_kib;
  }
}

TEST(DiffRanks, TwoHaveNoOddOne) {
  std::vector<RankHeld> ranks;
  for (uint64_t mib : {10, 100}) ranks.push_back({mib * kMiB, kMiB});
  EXPECT_EQ(tableOf(ranks).oddOne(), std::nullopt);
}

TEST(DiffRanks, TheMedianIsOneOfThem) {
  EXPECT_EQ(lowerMedian({}), 0u);
  EXPECT_EQ(lowerMedian({7}), 7u);
  EXPECT_EQ(lowerMedian({9, 1}), 1u);
  EXPECT_EQ(lowerMedian({3, 1, 2}), 2u);
  EXPECT_EQ(lowerMedian({4, 1, 3, 2}), 2u);
}

}  // namespace
}  // namespace tidegauge::analysis
