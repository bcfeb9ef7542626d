// Events of one shape are read by their bytes alone (event_runs.h). The careful way reads opcode by
// opcode, so the two must agree, also where an event only seems to have the shape.
#include "readers/torch/pickle/event_runs.h"

#include <gtest/gtest.h>

#include <random>

#include "readers/torch/pickle/event_scanner.h"
#include "readers/torch/pickle/machine.h"
#include "readers/torch/pickle/pickle.h"
#include "unit/readers/torch/pickle_writer.h"

namespace tidegauge::readers::torch {
namespace {

// Slots of what each file memoizes before its events.
enum Slot : uint8_t {
  kAction,
  kAddr,
  kSize,
  kStream,
  kTime,
  kFrames,
  kContext,
  kMetadata,
  kPool,
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kOom,
  kFrameA,
  kFrameB,
  kNoFrame,
  kStackOfA,
  kEmpty,
  kSlots
};

struct Event {
  uint8_t action = kAlloc;
  int64_t address = 4096;
  int64_t size_bytes = 512;
  uint8_t stream = 0;
  int64_t time_us = 1'700'000'000'000'000;
  std::string context = "N/A";
  uint8_t pool = 0;
  // The frames: a slot, or a list of slots that the event holds itself.
  uint8_t stack = kStackOfA;
  std::vector<uint8_t> frames{};
};

class Runs {
 public:
  Runs() {
    pickle_.proto().dict().mark();
    const char* texts[] = {"action",
                           "addr",
                           "size",
                           "stream",
                           "time_us",
                           "frames",
                           "compile_context",
                           "user_metadata",
                           "pool_id",
                           "alloc",
                           "free_requested",
                           "free_completed",
                           "oom"};
    for (const char* text : texts) define([&] { pickle_.str(text); });
    define([&] { pickle_.frame("a.py", 1, "a"); });
    define([&] { pickle_.frame("b.py", 2, "b"); });
    define([&] { pickle_.str("no frame"); });
    define([&] { pickle_.list().mark().get(kFrameA).appends(); });
    define([&] { pickle_.list(); });
    pickle_.str("segments").list().str("device_traces").list().mark().list().mark();
  }

  Runs& add(const Event& event) {
    pickle_.dict().memoize().mark().get(kAction).get(event.action).get(kAddr);
    number(event.address);
    number(pickle_.get(kSize), event.size_bytes);
    number(pickle_.get(kStream), event.stream);
    number(pickle_.get(kTime), event.time_us);
    pickle_.get(kContext).op(0x8c).op(static_cast<uint8_t>(event.context.size()));
    pickle_.raw(event.context).memoize().get(kMetadata).get(kNoFrame).get(kPool);
    pickle_.op('K').op(event.pool).op('K').op(0).pair().memoize().get(kFrames);
    if (event.frames.empty()) {
      pickle_.get(event.stack);
    } else {
      pickle_.list().memoize().mark();
      for (uint8_t frame : event.frames) pickle_.get(frame);
      pickle_.appends();
    }
    pickle_.setItems();
    return *this;
  }
  PickleWriter& raw() { return pickle_; }
  // Where the next opcode will be.
  size_t size() const { return pickle_.size(); }

  // Both ways, and the columns of the quick one.
  model::Events finish() {
    pickle_.endTrace();
    model::Trace quick = mustRead(false), careful = mustRead(true);
    expectSame(quick, careful);
    return quick.events;
  }

 private:
  template <class Define>
  void define(Define value) {  // {0: value, …}: unknown keys of the file
    pickle_.str("word");
    value();
    pickle_.memoize();
  }
  void number(int64_t value) { number(pickle_, value); }
  // As short as a pickler writes it.
  static void number(PickleWriter& pickle, int64_t value) {
    if (value >= 0 && value < 256) {
      pickle.op('K').op(static_cast<uint8_t>(value));
    } else if (value >= 0 && value < 65536) {
      pickle.op('M').little(static_cast<uint64_t>(value), 2);
    } else if (value == static_cast<int32_t>(value)) {
      pickle.op('J').little(static_cast<uint64_t>(value), 4);
    } else {
      int bytes = 5;
      while (bytes < 8 && value != value << (64 - 8 * bytes) >> (64 - 8 * bytes)) ++bytes;
      pickle.op(0x8a).op(static_cast<uint8_t>(bytes)).little(static_cast<uint64_t>(value), bytes);
    }
  }
  model::Trace mustRead(bool careful) {
    ReadOptions options;
    options.careful = careful;
    auto trace = readSnapshot(pickle_.bytes(), "test", options);
    EXPECT_TRUE(trace.ok()) << trace.error().what;
    return trace.ok() ? std::move(trace).value() : model::Trace();
  }
  static std::string stackText(const model::Trace& trace, model::StackId stack) {
    std::string text;
    if (!stack.valid()) return text;
    for (size_t i = 0; i < trace.stacks.depth(stack); ++i) {
      model::FrameId frame = trace.stacks.framesOf(stack)[i];
      text += std::string(trace.strings.text(trace.frames.function[frame.index()])) + " ";
    }
    return text;
  }
  static void expectSame(const model::Trace& a, const model::Trace& b) {
    ASSERT_EQ(a.events.size(), b.events.size());
    EXPECT_EQ(a.events.action, b.events.action);
    EXPECT_EQ(a.events.address, b.events.address);
    EXPECT_EQ(a.events.size_bytes, b.events.size_bytes);
    EXPECT_EQ(a.events.time_us, b.events.time_us);
    ASSERT_EQ(a.issues.all().size(), b.issues.all().size());
    for (size_t row = 0; row < a.events.size(); ++row) {
      EXPECT_EQ(stackText(a, a.events.stack[row]), stackText(b, b.events.stack[row])) << row;
      EXPECT_EQ(a.streams[a.events.stream[row].index()].raw,
                b.streams[b.events.stream[row].index()].raw)
          << row;
      EXPECT_EQ(poolOf(a, row), poolOf(b, row)) << row;
      EXPECT_EQ(contextOf(a, row), contextOf(b, row)) << row;
    }
  }
  static uint64_t poolOf(const model::Trace& trace, size_t row) {
    return trace.events.pool.empty() ? 0 : trace.pools[trace.events.pool[row].index()].first;
  }
  static std::string_view contextOf(const model::Trace& trace, size_t row) {
    bool none = trace.events.compile_context.empty();
    return none ? "" : trace.strings.text(trace.events.compile_context[row]);
  }

  PickleWriter pickle_;
};

TEST(EventRuns, ManyOfOneShape) {
  Runs runs;
  for (int64_t i = 0; i < 1000; ++i) runs.add({.address = 4096 * i, .size_bytes = i * i * i});
  model::Events events = runs.finish();
  ASSERT_EQ(events.size(), 1000U);
  EXPECT_EQ(events.address[999], 4096U * 999);
  EXPECT_EQ(events.size_bytes[999], 999ULL * 999 * 999);
}

// The other tests would pass if nothing was ever recognised.
TEST(EventRuns, RecogniseAllButTheFirst) {
  Runs runs;
  size_t begin = runs.size();
  for (int64_t i = 0; i < 200; ++i) runs.add({.address = 4096 * i, .size_bytes = i});
  std::span<const uint8_t> bytes = runs.raw().bytes();
  model::Trace trace;
  Values values(bytes, trace.strings);
  Oddities oddities(values);
  Columns columns(trace, values, oddities);
  Machine machine(columns, Mode::kQuick);
  PickleEnd end;
  readPickle(bytes.first(begin), machine, columns, {}, end);  // what the events refer to
  StackScanner stacks(columns, machine.memo(), bytes.data(), bytes.data() + bytes.size());
  EventScanner scanner(columns, machine.memo(), stacks, bytes.data(), bytes.data() + bytes.size());
  EventRuns events(columns, machine.memo(), stacks, bytes.data() + bytes.size());
  const uint8_t* at = bytes.data() + begin + 1;
  uint32_t row = 0;
  EXPECT_EQ(events.scan(at, row), 0U);  // nothing was learnt
  EventRow first;
  ASSERT_TRUE(scanner.scanEvent(at, first));
  events.learn(scanner.lastEvent().value(), first);
  ++at;
  EXPECT_GT(events.scan(at, row), 190U);  // all but those near the end of the input
  EXPECT_EQ(trace.events.address[100], 4096U * 100);
}

TEST(EventRuns, AnEventWithAnotherPlaceIsNotLearntFor) {
  // A snapshot may have device_free beside its address; an alloc must not.
  for (const char* action : {"snapshot", "alloc"}) {
    Runs runs;
    for (int i = 0; i < 4; ++i) {
      runs.raw().dict().memoize().mark().get(kAction).str(i < 2 ? "snapshot" : action);
      runs.raw().get(kAddr).number(4096).get(kSize).number(512);
      runs.raw().str("device_free").number(77).setItems();
    }
    EXPECT_EQ(runs.finish().size(), 4U);
  }
}

TEST(EventRuns, AValueThatIsNoStackEndsTheBlock) {
  Runs runs;
  for (int i = 0; i < 100; ++i) runs.add({});
  runs.add({.stack = kNoFrame}).add({.stack = kFrameA});
  for (int i = 0; i < 100; ++i) runs.add({});
  model::Events events = runs.finish();
  ASSERT_EQ(events.size(), 202U);
  EXPECT_FALSE(events.stack[100].valid());
  EXPECT_TRUE(events.stack[102].valid());
}

TEST(EventRuns, AnEmptyListThatIsFilledLater) {
  Runs runs;
  for (int i = 0; i < 10; ++i) runs.add({});
  runs.add({.stack = kEmpty}).add({});
  // The list gets its frame after an event referred to it.
  runs.raw().appends().appends().get(kEmpty).get(kFrameB).append().op('0');
  runs.raw().str("more").list().mark().list().mark();
  model::Events events = runs.finish();
  ASSERT_EQ(events.size(), 12U);
  EXPECT_TRUE(events.stack[10].valid());
}

TEST(EventRuns, AWordThatIsReplaced) {
  Runs runs;
  for (int i = 0; i < 10; ++i) runs.add({});
  // From here on, the slot of "size" is another key, and "addr" is "size".
  runs.raw().str("time_us").put(kSize).op('0').str("size").put(kAddr).op('0');
  for (int i = 0; i < 10; ++i) runs.add({.address = 77, .size_bytes = 88, .time_us = 99});
  model::Events events = runs.finish();
  ASSERT_EQ(events.size(), 20U);
  EXPECT_EQ(events.size_bytes[0], 77U);  // ordered by time
}

TEST(EventRuns, FramesWhoseSlotIsReplaced) {
  Runs runs;
  for (int i = 0; i < 4; ++i) runs.add({.frames = {kFrameA, kFrameB}}).add({.frames = {kFrameB}});
  runs.raw().frame("c.py", 3, "c").put(kFrameB).op('0');
  for (int i = 0; i < 4; ++i) runs.add({.frames = {kFrameA, kFrameB}}).add({.frames = {kFrameB}});
  EXPECT_EQ(runs.finish().size(), 16U);
}

TEST(EventRuns, AnOomHasNoAddress) {
  Runs runs;
  for (int i = 0; i < 10; ++i) runs.add({});
  runs.add({.action = kOom}).add({});
  EXPECT_EQ(runs.finish().size(), 12U);
}

TEST(EventRuns, ImpossibleSizesAndTimes) {
  Runs runs;
  for (int i = 0; i < 10; ++i) runs.add({});
  runs.add({.size_bytes = -1}).add({.size_bytes = int64_t{1} << 62}).add({.time_us = -5}).add({});
  EXPECT_EQ(runs.finish().size(), 14U);
}

TEST(EventRuns, AnythingAtRandom) {
  std::mt19937 random(7);
  auto below = [&](uint32_t end) { return static_cast<uint8_t>(random() % end); };
  for (int file = 0; file < 30; ++file) {
    Runs runs;
    for (int i = 0; i < 600; ++i) {
      Event event;
      event.action = static_cast<uint8_t>(kAlloc + below(3));
      event.address = static_cast<int64_t>(random()) << below(31);
      event.size_bytes = static_cast<int64_t>(random() >> below(31));
      // More shapes than are kept, in some files.
      event.stream = below(file % 3 == 0 ? 20 : 2);
      event.pool = below(2);
      event.context = below(9) == 0 ? "[0/" + std::to_string(below(4)) + "]" : "N/A";
      event.time_us += i;
      if (below(2) == 0) {
        for (int depth = below(4); depth >= 0; --depth)
          event.frames.push_back(static_cast<uint8_t>(kFrameA + below(2)));
      }
      if (below(100) == 0) event.stack = static_cast<uint8_t>(kFrameA + below(5));
      if (below(100) == 0) event.frames = {kFrameA, kNoFrame};
      runs.add(event);
    }
    EXPECT_EQ(runs.finish().size(), 600U);
  }
}

}  // namespace
}  // namespace tidegauge::readers::torch
