// Objects that are shared, filled late, in parts or in circles: the quick way must be right or give
// way to the careful one. What Python's unpickler would make of each pickle is stated in the test.
#include <gtest/gtest.h>

#include "unit/readers/torch/pickle_writer.h"

namespace tidegauge::readers::torch {
namespace {

model::Trace mustRead(const PickleWriter& pickle, bool careful = false) {
  ReadOptions options;
  options.careful = careful;
  auto trace = readSnapshot(pickle.bytes(), "test", options);
  EXPECT_TRUE(trace.ok()) << trace.error().what;
  return trace.ok() ? std::move(trace).value() : model::Trace();
}

void expectSame(const PickleWriter& pickle, const std::vector<uint64_t>& sizes) {
  for (bool careful : {false, true}) {
    model::Trace trace = mustRead(pickle, careful);
    EXPECT_EQ(trace.events.size_bytes, sizes) << (careful ? "careful" : "quick");
  }
}

TEST(Sharing, EventFilledInTwoParts) {
  PickleWriter pickle;
  pickle.beginTrace().dict().mark().str("action").str("alloc").str("size").number(1).setItems();
  pickle.mark().str("size").number(77).setItems();
  expectSame(pickle.event("alloc", 1, 5).endTrace(), {77, 5});
}

TEST(Sharing, EventFilledItemByItem) {
  PickleWriter pickle;
  pickle.beginTrace().dict().str("action").str("alloc").setItem().str("size").number(9).setItem();
  expectSame(pickle.endTrace(), {9});
}

TEST(Sharing, SameEventTwiceInTheList) {
  PickleWriter pickle;
  pickle.beginTrace().event("alloc", 1, 5).memoize().event("alloc", 2, 6).get(0);
  expectSame(pickle.endTrace(), {5, 6, 5});
}

TEST(Sharing, EventsInAnotherOrderThanTheyWereMade) {
  PickleWriter pickle;
  pickle.proto().event("alloc", 1, 5).put(0).op('0').event("alloc", 2, 6).put(1).op('0');
  pickle.dict().mark().str("segments").list().str("device_traces").list().mark();
  pickle.list().mark().get(1).get(0).appends().list().mark().get(0).appends();
  model::Trace trace = mustRead(pickle.appends().setItems().stop());
  EXPECT_EQ(trace.events.size_bytes, (std::vector<uint64_t>{6, 5, 5}));
  ASSERT_EQ(trace.devices.size(), 2u);
  EXPECT_EQ(trace.devices[1].event_begin, 2u);
}

TEST(Sharing, EventOutsideTheTracesIsNotARow) {
  PickleWriter pickle;
  pickle.proto().dict().mark().str("stray").event("alloc", 9, 9).str("segments").list();
  pickle.str("device_traces").list().mark().list().mark().event("alloc", 1, 5).appends().appends();
  expectSame(pickle.setItems().stop(), {5});
}

TEST(Sharing, ListFilledAfterItWasUsed) {
  // l = []; event = {"frames": l}; l.append(frame): the event has the frame.
  PickleWriter pickle;
  pickle.proto().list().put(0).op('0').dict().mark().str("segments").list().str("device_traces");
  pickle.list().mark().list().mark();
  pickle.dict().mark().str("action").str("alloc").str("frames").get(0).setItems();
  pickle.appends().appends().setItems();
  pickle.get(0).frame("a.py", 1, "f").append().op('0').stop();
  model::Trace trace = mustRead(pickle);
  ASSERT_EQ(trace.events.size(), 1u);
  ASSERT_TRUE(trace.events.stack[0].valid());
  EXPECT_EQ(trace.stacks.depth(trace.events.stack[0]), 1u);
}

TEST(Sharing, FrameFilledAfterItWasUsed) {
  PickleWriter pickle;
  pickle.beginTrace().dict().mark().str("action").str("alloc").str("frames").list().mark();
  pickle.frame("a.py", 1, "f").put(5).appends().setItems().appends().appends().setItems();
  pickle.get(5).mark().str("line").number(42).setItems().op('0').stop();
  model::Trace trace = mustRead(pickle);
  ASSERT_EQ(trace.events.size(), 1u);
  size_t frame = trace.stacks.framesOf(trace.events.stack[0])[0].index();
  EXPECT_EQ(trace.frames.line[frame], 42u);
}

TEST(Sharing, SharedEmptyListStaysEmpty) {
  PickleWriter pickle;
  pickle.beginTrace();
  pickle.dict().mark().str("action").str("alloc").str("frames").list().put(1).setItems();
  pickle.dict().mark().str("action").str("alloc").str("frames").get(1).setItems();
  model::Trace trace = mustRead(pickle.endTrace());
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_FALSE(trace.events.stack[0].valid());
  EXPECT_FALSE(trace.events.stack[1].valid());
}

TEST(Sharing, CirclesEnd) {
  // top["self"] = top; the trace list contains itself.
  PickleWriter pickle;
  pickle.proto().dict().put(0).mark().str("self").get(0).str("segments").list().put(1).mark();
  pickle.get(1).appends().str("allocator_settings").get(0).setItems().stop();
  model::Trace trace = mustRead(pickle);
  EXPECT_TRUE(trace.settings.present);
  EXPECT_GE(trace.issues.count(model::IssueKind::kBadValue), 1u);
}

TEST(Sharing, LongStackInBatches) {
  PickleWriter pickle;
  pickle.beginTrace().dict().mark().str("action").str("alloc").str("frames").list().put(0).mark();
  pickle.frame("a.py", 1, "f").put(1);
  for (int i = 1; i < 1000; ++i) pickle.get(1);
  pickle.appends().mark().get(1).get(1).appends().setItems();
  pickle.dict().mark().str("action").str("alloc").str("frames").get(0).setItems();
  model::Trace trace = mustRead(pickle.endTrace());
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.stacks.depth(trace.events.stack[0]), 1002u);
  EXPECT_EQ(trace.events.stack[0], trace.events.stack[1]);
}

// Found by fuzzing: both ways must take an empty dict, a frame or an older duplicate key alike.
TEST(Sharing, BothWaysAgreeOnAbsurdFiles) {
  PickleWriter absurd;
  absurd.beginTrace().event("alloc", 1, 5).dict().frame("a.py", 1, "f").list();
  expectSame(absurd.endTrace(), {5});
  for (bool careful : {false, true}) {
    ReadOptions options;
    options.careful = careful;
    std::string_view twice = R"({"segments": [],
        "device_traces": [[{"action": "alloc", "size": 7, "time_us": 3}]],
        "device_traces": [[{"action": "alloc", "size": 8}]]})";
    auto trace = readSnapshot(asBytes(twice), "test", options);
    ASSERT_TRUE(trace.ok()) << trace.error().what;
    EXPECT_EQ(trace.value().events.size_bytes, (std::vector<uint64_t>{8}));
    EXPECT_TRUE(trace.value().events.time_us.empty());
  }
}

TEST(Sharing, DupPopAndRunsOfEvents) {
  // Known keys first, so that the scanner takes the events and makes a run of them.
  auto start = [](PickleWriter& pickle) -> PickleWriter& {
    pickle.proto(2).str("action").put(0).str("size").put(1).str("alloc").put(2);
    return pickle.op('0').op('0').op('0');
  };
  auto event = [](PickleWriter& pickle, int64_t size_bytes) {
    pickle.dict().mark().get(0).get(2).get(1).number(size_bytes).setItems();
  };
  auto finish = [](PickleWriter& pickle) -> PickleWriter& {
    return pickle.appends().appends().setItems().stop().raw(std::string(64, '\0'));
  };
  auto begin = [](PickleWriter& pickle) {
    pickle.dict().mark().str("segments").list().str("device_traces").list().mark().list().mark();
  };
  PickleWriter dup;
  begin(start(dup));
  for (int64_t i = 0; i < 5; ++i) event(dup, i);
  expectSame(finish(dup.op('2')), {0, 1, 2, 3, 4, 4});
  PickleWriter pop;
  begin(start(pop));
  for (int64_t i = 0; i < 5; ++i) event(pop, i);
  expectSame(finish(pop.op('0')), {0, 1, 2, 3});
  PickleWriter remembered;
  begin(start(remembered));
  for (int64_t i = 0; i < 5; ++i) event(remembered, i);
  expectSame(finish(remembered.put(9).get(9)), {0, 1, 2, 3, 4, 4});
}

}  // namespace
}  // namespace tidegauge::readers::torch
