// Lives from ranges of events, as they arrive while a file is read, against lives from all at once.
#include "model/lives/blocks/block_lives.h"

#include <gtest/gtest.h>

#include "model/lives/blocks/place_table.h"
#include "model/lives/lives.h"
#include "support/simulated_heap.h"

namespace tidegauge::model {
namespace {

bool isExplained(ActionSet, IssueKind) { return false; }

// The blocks alone of the first device, whose other rows are built already.
Trace again(const testing::HeapOptions& options, Step range) {
  Trace trace = testing::simulate(options).trace;
  Device& device = trace.devices.front();
  trace.allocations = {};
  trace.issues = {};
  for (size_t event = 0; event < trace.events.size(); ++event) {
    Action action = trace.events.action[event];
    if (action <= Action::kFree || action == Action::kAnnotate)
      trace.events.subject[event] = kNoBlock;
  }
  CarriedAllocations carried;
  BlockLives lives(carried);
  lives.begin(device, 0);
  for (Step from = 0, steps = device.steps(); from < steps;) {
    Step to = from + std::min(range, steps - from);
    lives.addRows(rowsOf(trace.events, device, from, to));
    from = to;
  }
  lives.finish(trace, device, isExplained);
  return trace;
}

void expectEqual(const Trace& a, const Trace& b) {
  EXPECT_EQ(a.events.subject, b.events.subject);
  EXPECT_EQ(a.allocations.address, b.allocations.address);
  EXPECT_EQ(a.allocations.requested_bytes, b.allocations.requested_bytes);
  EXPECT_EQ(a.allocations.block_bytes, b.allocations.block_bytes);
  EXPECT_EQ(a.allocations.segment, b.allocations.segment);
  EXPECT_EQ(a.allocations.stack, b.allocations.stack);
  EXPECT_EQ(a.allocations.first_step, b.allocations.first_step);
  EXPECT_EQ(a.allocations.last_step, b.allocations.last_step);
  EXPECT_EQ(a.allocations.free_requested_step, b.allocations.free_requested_step);
  EXPECT_EQ(a.allocations.version, b.allocations.version);
  EXPECT_EQ(a.allocations.stream, b.allocations.stream);
  EXPECT_EQ(a.allocations.pool, b.allocations.pool);
  EXPECT_EQ(a.allocations.provenance, b.allocations.provenance);
  EXPECT_EQ(a.allocations.flags, b.allocations.flags);
  EXPECT_EQ(a.final_blocks.allocation, b.final_blocks.allocation);
  ASSERT_EQ(a.issues.all().size(), b.issues.all().size());
  for (size_t i = 0; i < a.issues.all().size(); ++i) {
    EXPECT_EQ(a.issues.all()[i].kind, b.issues.all()[i].kind);
    EXPECT_EQ(a.issues.all()[i].count, b.issues.all()[i].count);
    EXPECT_EQ(a.issues.all()[i].bytes, b.issues.all()[i].bytes);
    EXPECT_EQ(a.issues.all()[i].first_step, b.issues.all()[i].first_step);
  }
}

TEST(BlockLives, RangesOfAnyLengthGiveTheSame) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    testing::HeapOptions options{.seed = seed,
                                 .events = 700,
                                 .expandable = seed % 2 == 0,
                                 .drop_first = seed % 3 == 0 ? 200 : 0};
    Trace whole = testing::simulate(options).trace;
    ASSERT_EQ(whole.devices.size(), 1U);
    Trace at_once = again(options, whole.devices[0].steps());
    EXPECT_EQ(at_once.events.subject, whole.events.subject) << "seed " << seed;
    EXPECT_EQ(at_once.allocations.last_step, whole.allocations.last_step) << "seed " << seed;
    for (Step range : {1U, 7U, 100U}) expectEqual(again(options, range), at_once);
  }
}

TEST(PlaceTable, FindsWhatWasPutThere) {
  PlaceTable places;
  // Also addresses whose lower bits are equal, and both ends of the range.
  auto address = [](uint64_t i) { return i == 0 ? UINT64_MAX : (i - 1) << (i % 2 == 0 ? 9 : 40); };
  EXPECT_EQ(places.find(0), nullptr);
  for (uint32_t i = 0; i < 20'000; ++i) {
    places.makeRoom(1);
    places.fetchPlace(address(i));
    Place& place = places.at(address(i));
    EXPECT_EQ(place.block, kNoBlock);
    place.block = i;
  }
  for (uint32_t i = 0; i < 20'000; ++i) {
    ASSERT_NE(places.find(address(i)), nullptr);
    EXPECT_EQ(places.find(address(i))->address, address(i));
    EXPECT_EQ(places.find(address(i))->block, i);
  }
  EXPECT_EQ(places.find(1), nullptr);
}

}  // namespace
}  // namespace tidegauge::model
