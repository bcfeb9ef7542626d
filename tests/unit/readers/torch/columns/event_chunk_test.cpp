// Chunks that the reader hands on are the rows of the trace, or they are forgotten.
#include "readers/torch/columns/event_chunk.h"

#include <gtest/gtest.h>

#include "unit/readers/torch/pickle_writer.h"

namespace tidegauge::readers::torch {
namespace {

struct Taken {
  std::vector<EventChunk> chunks;
  bool forgotten = false;
  model::Trace trace;
};

Taken readInChunks(std::span<const uint8_t> bytes) {
  Taken taken;
  ReadOptions options;
  options.take_chunk = [&](EventChunk& chunk) { taken.chunks.push_back(std::move(chunk)); };
  options.forget_chunks = [&] {
    taken.forgotten = true;
    taken.chunks.clear();
  };
  auto trace = readSnapshot(bytes, "test", options);
  EXPECT_TRUE(trace.ok()) << trace.error().what;
  if (trace.ok()) taken.trace = std::move(trace).value();
  return taken;
}

TEST(EventChunk, AreTheRowsOfTheTrace) {
  constexpr int64_t kEvents = 100'000;
  PickleWriter pickle;
  pickle.beginTrace();
  for (int64_t i = 0; i < kEvents; ++i) pickle.event("alloc", i * 512, i);
  Taken taken = readInChunks(pickle.endTrace().bytes());
  EXPECT_FALSE(taken.forgotten);
  EXPECT_GT(taken.chunks.size(), 2U);
  uint64_t row = 0;
  for (const EventChunk& chunk : taken.chunks) {
    EXPECT_EQ(chunk.first_row, row);
    EXPECT_EQ(chunk.list, 0U);
    for (size_t i = 0; i < chunk.rows(); ++i, ++row) {
      ASSERT_EQ(chunk.action[i], taken.trace.events.action[row]);
      ASSERT_EQ(chunk.address[i], taken.trace.events.address[row]);
      ASSERT_EQ(chunk.size_bytes[i], taken.trace.events.size_bytes[row]);
      ASSERT_EQ(chunk.stack[i], taken.trace.events.stack[row]);
      ASSERT_EQ(chunk.stream[i], taken.trace.events.stream[row]);
    }
  }
  EXPECT_EQ(row, static_cast<uint64_t>(kEvents));
}

TEST(EventChunk, EachDeviceHasItsOwn) {
  PickleWriter pickle;
  pickle.beginTrace();
  for (int64_t i = 0; i < 10; ++i) pickle.event("alloc", i * 512, 1);
  pickle.appends().list().mark();
  for (int64_t i = 0; i < 20; ++i) pickle.event("alloc", i * 512, 2);
  Taken taken = readInChunks(pickle.endTrace().bytes());
  ASSERT_EQ(taken.chunks.size(), 2U);
  EXPECT_EQ(taken.chunks[0].rows(), 10U);
  EXPECT_EQ(taken.chunks[1].rows(), 20U);
  EXPECT_EQ(taken.chunks[1].first_row, 10U);
  EXPECT_NE(taken.chunks[0].list, taken.chunks[1].list);
  EXPECT_EQ(taken.trace.devices[1].event_begin, 10U);
}

TEST(EventChunk, AreForgottenIfThereAreManyLists) {
  // Who takes chunks keeps something for each list.
  PickleWriter pickle;
  pickle.beginTrace().event("alloc", 0, 1);
  for (int i = 0; i < 500; ++i) pickle.appends().list().mark().event("alloc", i * 512, 1);
  Taken taken = readInChunks(pickle.endTrace().bytes());
  EXPECT_TRUE(taken.forgotten);
  EXPECT_EQ(taken.trace.devices.size(), 501U);
}

TEST(EventChunk, AreForgottenIfRowsMove) {
  // The second device's events come first.
  PickleWriter pickle;
  pickle.proto().event("alloc", 1, 5).put(0).op('0').event("alloc", 2, 6).put(1).op('0');
  pickle.dict().mark().str("segments").list().str("device_traces").list().mark();
  pickle.list().mark().get(1).appends().list().mark().get(0).appends();
  Taken taken = readInChunks(pickle.appends().setItems().stop().bytes());
  EXPECT_TRUE(taken.forgotten);
}

TEST(EventChunk, AreForgottenIfTheFileIsReadAnew) {
  // An event that is filled in two parts needs the careful way.
  PickleWriter pickle;
  pickle.beginTrace().event("alloc", 1, 5);
  pickle.dict().mark().str("action").str("alloc").str("size").number(1).setItems();
  pickle.mark().str("size").number(77).setItems();
  Taken taken = readInChunks(pickle.endTrace().bytes());
  EXPECT_TRUE(taken.forgotten);
  EXPECT_EQ(taken.trace.events.size(), 2U);
}

}  // namespace
}  // namespace tidegauge::readers::torch
