// Lives that are joined while the file is read are those that buildLives() finds afterwards.
#include "readers/torch/unpack/lives_while_reading.h"

#include <gtest/gtest.h>

#include <random>

#include "model/lives/lives.h"
#include "model/lives/recording_issues.h"
#include "readers/torch/unpack/open_snapshots.h"
#include "unit/readers/torch/pickle_writer.h"

namespace tidegauge::readers::torch {
namespace {

// Allocations and frees at random, some of them contradictory, and memory from before.
void addEvents(PickleWriter& pickle, std::mt19937& random, int count) {
  for (int i = 0; i < count; ++i) {
    auto address = static_cast<int64_t>(0x7f0000000000 + (random() % 3000) * 512);
    const char* actions[] = {"alloc", "free_requested", "free_completed", "segment_alloc"};
    pickle.event(actions[random() % (i % 50 == 0 ? 4 : 3)], address, 512);
  }
}

void expectSameLives(const model::Trace& a, const model::Trace& b) {
  EXPECT_EQ(a.events.subject, b.events.subject);
  const model::Allocations &x = a.allocations, &y = b.allocations;
  ASSERT_EQ(x.size(), y.size());
  EXPECT_EQ(x.address, y.address);
  EXPECT_EQ(x.requested_bytes, y.requested_bytes);
  EXPECT_EQ(x.block_bytes, y.block_bytes);
  EXPECT_EQ(x.segment, y.segment);
  EXPECT_EQ(x.stack, y.stack);
  EXPECT_EQ(x.first_step, y.first_step);
  EXPECT_EQ(x.last_step, y.last_step);
  EXPECT_EQ(x.free_requested_step, y.free_requested_step);
  EXPECT_EQ(x.version, y.version);
  EXPECT_EQ(x.stream, y.stream);
  EXPECT_EQ(x.provenance, y.provenance);
  EXPECT_EQ(x.flags, y.flags);
  ASSERT_EQ(a.issues.all().size(), b.issues.all().size());
  for (size_t i = 0; i < a.issues.all().size(); ++i) {
    EXPECT_EQ(a.issues.all()[i].kind, b.issues.all()[i].kind);
    EXPECT_EQ(a.issues.all()[i].count, b.issues.all()[i].count);
    EXPECT_EQ(a.issues.all()[i].first_step, b.issues.all()[i].first_step);
  }
}

model::Trace joinedAfterwards(std::span<const uint8_t> bytes) {
  model::Trace trace = readSnapshot(bytes, "test", {}).value();
  model::buildLives(trace);
  model::noteHistory(trace);
  return trace;
}

model::Trace joinedMeanwhile(std::span<const uint8_t> bytes, int& taken) {
  LivesWhileReading lives(bytes.size());
  ReadOptions options;
  options.take_chunk = [&](EventChunk& chunk) {
    ++taken;
    lives.take(std::move(chunk));
  };
  options.forget_chunks = [&] {
    taken = 0;
    lives.forget();
  };
  model::Trace trace = readSnapshot(bytes, "test", options).value();
  model::StartedDevices started = lives.finish();
  for (const auto& it : started) {
    for (const model::Device& device : trace.devices) taken += it->areOf(device) ? 1000 : 0;
  }
  model::buildLives(trace, {}, std::move(started));
  model::noteHistory(trace);
  return trace;
}

TEST(LivesWhileReading, AreThoseOfTheWholeFile) {
  std::mt19937 random(3);
  PickleWriter pickle;
  pickle.beginTrace();
  addEvents(pickle, random, 70'000);
  pickle.appends().list().mark();
  addEvents(pickle, random, 40'000);
  pickle.endTrace();
  int taken = 0;
  model::Trace meanwhile = joinedMeanwhile(pickle.bytes(), taken);
  EXPECT_GT(taken, 2000);  // both devices were
  expectSameLives(meanwhile, joinedAfterwards(pickle.bytes()));
}

TEST(LivesWhileReading, StartOverWhereRowsMove) {
  // The second device is read first.
  std::mt19937 random(4);
  PickleWriter pickle;
  pickle.proto().dict().mark().str("segments").list().str("x").list().put(0).mark();
  addEvents(pickle, random, 50'000);
  pickle.appends().str("device_traces").list().mark().list().mark();
  addEvents(pickle, random, 100);
  pickle.appends().get(0).appends().setItems().stop();
  int taken = 0;
  model::Trace meanwhile = joinedMeanwhile(pickle.bytes(), taken);
  EXPECT_EQ(taken, 0);
  EXPECT_EQ(meanwhile.devices.size(), 2U);
  expectSameLives(meanwhile, joinedAfterwards(pickle.bytes()));
}

TEST(LivesWhileReading, OpeningALongFileUsesThem) {
  std::mt19937 random(5);
  PickleWriter pickle;
  pickle.beginTrace();
  addEvents(pickle, random, 80'000);
  pickle.endTrace();
  ASSERT_GT(pickle.size(), size_t{4} << 20);
  auto opened = openSnapshots(pickle.bytes(), "test", {});
  ASSERT_TRUE(opened.ok());
  expectSameLives(opened.value()[0], joinedAfterwards(pickle.bytes()));
}

TEST(LivesWhileReading, AFileThatEndsTooEarlyIsAnErrorAsBefore) {
  std::mt19937 random(6);
  PickleWriter pickle;
  pickle.beginTrace();
  addEvents(pickle, random, 80'000);
  auto opened = openSnapshots(pickle.bytes(), "test", {});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().what.find("ends"), std::string::npos);
}

}  // namespace
}  // namespace tidegauge::readers::torch
