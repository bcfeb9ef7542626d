#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/trace_builder.h"
#include "view/filter/filter.h"
#include "view/map/address_map.h"
#include "view/state_at.h"
#include "view/tables/event_list.h"
#include "view/tables/table.h"
#include "view/timeline/coverage.h"

namespace tidegauge::view {
namespace {

using analysis::AnalysedTrace;
using model::BlockState;
using testing::TraceBuilder;

// A 20 MiB segment with a block of 1 MiB and one of 3 MiB (2 MiB requested), and an empty one.
AnalysedTrace twoSegments() {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).segmentAlloc(kA + 64 * kMiB, 32 * kMiB);
  b.stack({"attention@attn.py:7"}).alloc(kA, kMiB);
  b.stack({"forward@model.py:5"}).alloc(kA + 8 * kMiB, 2 * kMiB);
  b.oom(3 * kMiB, 100 * kMiB);
  b.finalSegment(kA, 20 * kMiB);
  b.block(kMiB, BlockState::kActiveAllocated, kMiB);
  b.block(7 * kMiB, BlockState::kInactive);
  b.block(3 * kMiB, BlockState::kActiveAllocated, 2 * kMiB);
  b.block(9 * kMiB, BlockState::kInactive);
  b.finalSegment(kA + 64 * kMiB, 32 * kMiB).block(32 * kMiB, BlockState::kInactive);
  return AnalysedTrace(b.build());
}

TEST(State, SaysWhatPinsASegment) {
  AnalysedTrace trace = twoSegments();
  State state = stateAt(trace, *trace.devices[0], {.step = 4, .sort = StateSort::kPinned});
  ASSERT_EQ(state.segments.size(), 2u);
  const StateSegment& pinned = state.segments[0];
  EXPECT_EQ(pinned.sums.free_bytes, 16 * kMiB);
  EXPECT_EQ(pinned.sums.pinned_bytes, 16 * kMiB);
  EXPECT_EQ(pinned.sums.rounding_bytes, kMiB);
  EXPECT_EQ(pinned.sums.largest_free_bytes, 9 * kMiB);
  EXPECT_EQ(pinned.pin_count, 2u);
  ASSERT_EQ(pinned.pins.size(), 2u);
  EXPECT_EQ(pinned.pins[0].block_bytes, kMiB) << "the smallest first: it wastes most";
  EXPECT_EQ(pinned.pins[0].pins_bytes, 16 * kMiB);
  EXPECT_EQ(state.segments[1].sums.releasable_bytes, 32 * kMiB);
  EXPECT_EQ(state.segments[1].pin_count, 0u);
  EXPECT_EQ(state.groups.size(), 1u);
  EXPECT_EQ(state.groups[0].count, 2u);
}

TEST(State, PinsOfAnExpandableSegmentAreByPage) {
  TraceBuilder b;  // large pool: pages of 20 MiB
  b.map(kA, 60 * kMiB);
  b.alloc(kA, 2 * kMiB);
  b.alloc(kA + 40 * kMiB, 20 * kMiB);
  b.finalSegment(kA, 60 * kMiB, model::SegmentKind::kExpandable);
  b.block(2 * kMiB, BlockState::kActiveAllocated, 2 * kMiB);
  b.block(38 * kMiB, BlockState::kInactive);
  b.block(20 * kMiB, BlockState::kActiveAllocated, 20 * kMiB);
  AnalysedTrace trace(b.build());
  State state = stateAt(trace, *trace.devices[0], {.step = 2});
  ASSERT_EQ(state.segments.size(), 1u);
  EXPECT_EQ(state.segments[0].sums.releasable_bytes, 20 * kMiB) << "the page in the middle";
  EXPECT_EQ(state.segments[0].sums.pinned_bytes, 18 * kMiB);
  ASSERT_EQ(state.segments[0].pin_count, 1u) << "the block that fills its page pins nothing";
  EXPECT_EQ(state.segments[0].pins[0].pins_bytes, 18 * kMiB);
}

TEST(State, MergesWhatIsNarrowerThanAPixel) {
  AnalysedTrace trace = twoSegments();
  StateQuestion question{.step = 4, .sort = StateSort::kAddress};
  question.pixel_bytes = 8.0 * kMiB;
  State state = stateAt(trace, *trace.devices[0], question);
  ASSERT_EQ(state.parts.size(), 4u);  // 1 + 7; 3 alone; 9; 32
  EXPECT_EQ(state.parts[0].kind, PartKind::kMerged);
  EXPECT_EQ(state.parts[0].size_bytes, 8 * kMiB);
  EXPECT_EQ(state.parts[0].live_bytes, kMiB);
  EXPECT_EQ(state.parts[1].kind, PartKind::kLive);
}

TEST(State, ShowsBlocksOutsideEverySegment) {
  TraceBuilder b;
  b.alloc(kA, kMiB);
  AnalysedTrace trace(b.build());
  State state = stateAt(trace, *trace.devices[0], {.step = 0});
  ASSERT_EQ(state.segments.size(), 1u);
  EXPECT_FALSE(state.segments[0].segment.valid());
  EXPECT_FALSE(state.groups[0].known);
  EXPECT_EQ(state.sums.live_bytes, kMiB);
}

TEST(OwnedAxis, LeavesOutWhatIsNotOwned) {
  AnalysedTrace trace = twoSegments();
  OwnedAxis axis(trace.trace, trace.devices[0]->device);
  ASSERT_EQ(axis.ranges().size(), 2u);
  EXPECT_EQ(axis.totalBytes(), 52 * kMiB);
  EXPECT_EQ(axis.axisOf(kA + 64 * kMiB), 20 * kMiB);
  EXPECT_EQ(axis.addressAt(21 * kMiB), kA + 65 * kMiB);
  OwnedAxis plain(trace.trace, trace.devices[0]->device, true);
  EXPECT_EQ(plain.totalBytes(), 96 * kMiB);
  EXPECT_EQ(plain.axisOf(kA + 64 * kMiB), 64 * kMiB);
}

TEST(Coverage, AHoleAndABlockOfAnySizeAreSeen) {
  Coverage coverage(4, 1);
  coverage.add({0.5, 3.25, 0, 1});
  coverage.add({3.9999, 4, 0, 0.0001});
  std::vector<uint8_t> levels = coverage.levels();
  EXPECT_EQ(levels[1], 255);
  EXPECT_NEAR(levels[0], 127, 1);
  EXPECT_NEAR(levels[3], 64, 1);
  Coverage small(2, 1);
  small.add({0.2, 0.2001, 0, 1e-6});
  EXPECT_EQ(small.levels(), (std::vector<uint8_t>{1, 0}));
}

TEST(AddressMap, FlagsOutlinesOomsAndTheFilter) {
  AnalysedTrace trace = twoSegments();
  AddressMap map(trace, *trace.devices[0]);
  auto filter = parseFilter("stack:attn.py");
  ASSERT_TRUE(filter.ok());
  FilterSet passing = applyFilter(trace, filter.value());
  MapQuestion q;
  q.x = {.x1 = 5, .columns = 5};
  q.y1_bytes = 52.0 * kMiB;
  q.rows = 52;
  q.filter = &passing;
  MapTile tile = map.tile(q);
  ASSERT_EQ(tile.quads.size(), 4u);
  EXPECT_EQ(tile.quads[0].flags, kMapSegment);
  EXPECT_EQ(tile.quads[2].flags, kMapAtOom);
  EXPECT_EQ(tile.quads[2].column_begin, 2);
  EXPECT_EQ(tile.quads[2].column_end, 5);
  EXPECT_EQ(tile.quads[2].upper_bytes, 1.0 * kMiB);
  EXPECT_EQ(tile.quads[3].flags, kMapAtOom | kMapFiltered);
  EXPECT_EQ(tile.covered, std::vector<uint8_t>(52 * 5)) << "everything is a quad";
  EXPECT_EQ(tile.owned[0], 255);
  q.most_quads = 0;
  tile = map.tile(q);
  EXPECT_EQ(tile.covered[2], 255) << "row 0, column 2";
  EXPECT_EQ(tile.passing[2], 255);
  EXPECT_EQ(tile.covered[8 * 5 + 3], 255);
  EXPECT_EQ(tile.passing[8 * 5 + 3], 0) << "filtered away";
  MarkSet mark({0}, trace.trace.allocations.size());
  q.mark = &mark;
  tile = map.tile(q);
  ASSERT_EQ(tile.quads.size(), 3u);
  EXPECT_EQ(tile.quads[2].flags, kMapAtOom | kMapMarked);
}

TEST(Filter, UnderstandsItsTerms) {
  AnalysedTrace trace = twoSegments();
  auto countOf = [&](const char* text) -> int64_t {
    auto filter = parseFilter(text);
    return filter.ok() ? static_cast<int64_t>(applyFilter(trace, filter.value()).count()) : -1;
  };
  EXPECT_EQ(countOf(""), 2);
  EXPECT_EQ(countOf("size:>1MiB"), 1);
  EXPECT_EQ(countOf("size:1MiB..2MiB"), 1);
  EXPECT_EQ(countOf("size:=3MiB requested:2m"), 1);
  EXPECT_EQ(countOf("-size:>1MiB"), 1);
  EXPECT_EQ(countOf("stack:/attn|model/"), 2);
  EXPECT_EQ(countOf("stack:\"model.py:5 forward\""), 1);
  EXPECT_EQ(countOf("category:attention"), 1);
  EXPECT_EQ(countOf("category:attention,activations"), 2);
  EXPECT_EQ(countOf("provenance:older"), 0);
  EXPECT_EQ(countOf("born:>2 device:0"), 1);
  EXPECT_EQ(countOf("live:2"), 1);
  EXPECT_EQ(countOf("id:0,1 stream:0"), 2);
  for (const char* bad : {"size", "size:", "size:big", "foo:1", "live:x", "category:blue",
                          "stack:/(/", "life:1MiB", "provenance:", "size:..", "born:-1..2"}) {
    EXPECT_EQ(countOf(bad), -1) << bad;
  }
}

TEST(EventList, FindsTheNearestRow) {
  EXPECT_EQ(nearestIndex({}, 5), 0u);
  EXPECT_EQ(nearestIndex({3, 8, 20}, 2), 0u);
  EXPECT_EQ(nearestIndex({3, 8, 20}, 8), 1u);
  EXPECT_EQ(nearestIndex({3, 8, 20}, 19), 1u);
}

TEST(EventList, FiltersByStackAndVersion) {
  AnalysedTrace trace = twoSegments();
  const model::Device& device = trace.devices[0]->device;
  auto pattern = analysis::TextPattern::compile("attn.py:7");
  ASSERT_TRUE(pattern.ok());
  EventFilter filter;
  filter.stack = &pattern.value();
  EXPECT_EQ(matchingSteps(trace, device, filter), (std::vector<Step>{2}));
  EventFilter inside;
  inside.address = kA + 10 * kMiB;  // the block extends this far, the request does not
  EXPECT_EQ(matchingSteps(trace, device, inside), (std::vector<Step>{0, 3}));
  inside.version = 0;
  inside.address = kA + 8 * kMiB;
  EXPECT_EQ(matchingSteps(trace, device, inside), (std::vector<Step>{3}));
}

TEST(Tables, HaveTheColumnsThatTheyAreSortedBy) {
  AnalysedTrace trace = twoSegments();
  for (const char* name : {"allocations", "segments", "stacks", "phases", "streams"}) {
    auto table = tableOf(trace, *trace.devices[0], name, nullptr);
    ASSERT_TRUE(table.has_value()) << name;
    for (const TableColumn& column : table->columns) {
      EXPECT_EQ(orderOf(*table, column, true).size(), table->rows) << name << " " << column.name;
      EXPECT_TRUE(column.number || column.text);
    }
  }
  EXPECT_FALSE(tableOf(trace, *trace.devices[0], "nothing", nullptr).has_value());
  auto table = tableOf(trace, *trace.devices[0], "allocations", nullptr);
  EXPECT_EQ(orderOf(*table, *table->find("block_bytes"), true), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(orderOf(*table, *table->find("label"), false), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(orderOf(*table, *table->find("last_step"), true), (std::vector<uint32_t>{0, 1}))
      << "absent: both are live at the end";
}

}  // namespace
}  // namespace tidegauge::view
