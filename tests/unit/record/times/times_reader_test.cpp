// What programs may write into the memory of --device-times: whole entries with their values, and
// anything else, which is counted and left out.
#include "record/times/times_reader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "bpf/records.h"
#include "injection/cupti_layout.h"
#include "injection/records.h"
#include "record/kernel/even_clock.h"
#include "record/times/times_cost.h"

namespace tidegauge::record {
namespace {

uint64_t monotonicNow() { return EvenClock::ofSystem_ns(CLOCK_MONOTONIC); }

class TimesReaderTest : public ::testing::Test {
 protected:
  TimesReaderTest() {
    auto area = TimesArea::make({}, uint64_t{4} * INJECTION_CHUNK_BYTES);
    EXPECT_TRUE(area.ok());
    memory_ = &*area.value();
    reader_.emplace(std::move(area.value()));
  }

  // As a program does: one chunk, filled and returned.
  void write(uint32_t chunk, const std::string& bytes, uint32_t state = INJECTION_FULL,
             uint32_t image = 1) {
    injection_chunk& it = memory_->chunks[chunk];
    it.tgid = static_cast<uint32_t>(getpid());
    it.image = image;
    std::memcpy(it.bytes, bytes.data(), std::min(bytes.size(), sizeof(it.bytes)));
    it.written = static_cast<uint32_t>(bytes.size());
    it.state = state;
  }
  template <class T>
  static std::string entry(uint32_t type, const T& content, const std::string& more = {}) {
    injection_entry head{type, static_cast<uint32_t>(sizeof(content) + more.size())};
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof(head));
    bytes.append(reinterpret_cast<const char*>(&content), sizeof(content));
    bytes += more;
    bytes.resize((bytes.size() + 7) / 8 * 8);
    return bytes;
  }
  static injection_activity kernel(uint32_t name = 0) {
    injection_activity it{};
    it.start_ns = monotonicNow();
    it.end_ns = it.start_ns + 500;
    it.name = name;
    it.copy = COPY_UNKNOWN;
    return it;
  }
  static std::string named(uint32_t id, const std::string& name) {
    return entry(INJECTION_NAME, injection_name{id, static_cast<uint32_t>(name.size())}, name);
  }

  void read() {
    reader_->read([&](const DeviceState& it) { states_.push_back(it); },
                  [&](const DeviceActivity& it) {
                    activities_.push_back(it);
                    names_.emplace_back(it.name);
                  });
  }
  uint64_t lost(TimesLoss loss) const { return reader_->losses()[static_cast<size_t>(loss)]; }

  injection_area* memory_ = nullptr;
  std::optional<TimesReader> reader_;
  std::vector<DeviceState> states_;
  std::vector<DeviceActivity> activities_;
  std::vector<std::string> names_;
};

TEST_F(TimesReaderTest, EntriesArriveWithTheirValues) {
  injection_activity copy = kernel();
  copy.kind = INJECTION_COPY;
  copy.copy = COPY_HOST_TO_DEVICE;
  copy.bytes = 4096;
  copy.device = 1;
  copy.context = 2;
  copy.stream = 3;
  copy.correlation = 4;
  injection_state state{};
  state.outcome = INJECTION_REFUSED;
  state.code = 999;
  state.version = 130500;
  std::strcpy(state.call, "cuptiActivityEnable");
  write(2, entry(INJECTION_STATE, state) + named(7, "gemm") + entry(INJECTION_ACTIVITY, kernel(7)) +
               entry(INJECTION_ACTIVITY, copy));
  read();
  ASSERT_EQ(states_.size(), 1U);
  EXPECT_EQ(states_[0].outcome, INJECTION_REFUSED);
  EXPECT_EQ(states_[0].call, "cuptiActivityEnable");
  EXPECT_EQ(states_[0].code, 999);
  ASSERT_EQ(activities_.size(), 2U);
  EXPECT_EQ(names_[0], "gemm");
  EXPECT_EQ(activities_[0].end_ns - activities_[0].start_ns, 500);
  EXPECT_EQ(activities_[1].bytes, 4096U);
  EXPECT_EQ(activities_[1].direction, COPY_HOST_TO_DEVICE);
  EXPECT_EQ(activities_[1].device, 1U);
  EXPECT_EQ(activities_[1].context, 2U);
  EXPECT_EQ(activities_[1].stream, 3U);
  EXPECT_EQ(activities_[1].correlation, 4U);
  EXPECT_EQ(reader_->losses(), TimesLosses{});
  EXPECT_EQ(memory_->chunks[2].state, INJECTION_FREE);
}

TEST_F(TimesReaderTest, ANameMayComeLaterButNotForever) {
  write(0, entry(INJECTION_ACTIVITY, kernel(7)));
  write(1, entry(INJECTION_ACTIVITY, kernel(8)));
  read();
  EXPECT_TRUE(activities_.empty());
  write(0, named(7, "gemm"));
  read();
  EXPECT_EQ(names_, (std::vector<std::string>{"gemm", ""}));
}

TEST_F(TimesReaderTest, NamesAreOfTheirProgram) {
  write(0, named(7, "gemm"), INJECTION_FULL, 1);
  write(1, named(7, "axpy"), INJECTION_FULL, 2);
  write(2, entry(INJECTION_ACTIVITY, kernel(7)), INJECTION_FULL, 2);
  read();
  EXPECT_EQ(names_, (std::vector<std::string>{"axpy"}));
}

TEST_F(TimesReaderTest, WhatCannotBeIsCountedAndLeftOut) {
  auto with = [&](auto change) {
    injection_activity it = kernel();
    change(it);
    return entry(INJECTION_ACTIVITY, it);
  };
  write(0, with([](auto& it) { it.end_ns = it.start_ns - 1; }) + with([](auto& it) {
             it.start_ns = 1;
           }) + with([](auto& it) { it.end_ns = UINT64_MAX; }) +
               with([](auto& it) { it.start_ns = UINT64_MAX, it.end_ns = UINT64_MAX; }) +
               with([](auto& it) { it.bytes = UINT64_MAX; }) +
               with([](auto& it) { it.device = UINT32_MAX; }) +
               with([](auto& it) { it.kind = INJECTION_KINDS; }) +
               with([](auto& it) { it.copy = 200; }) +
               with([](auto& it) { it.start_ns = it.end_ns = 0; }));
  read();
  EXPECT_TRUE(activities_.empty());
  EXPECT_EQ(lost(TimesLoss::kAbsurd), 8U);
  EXPECT_EQ(lost(TimesLoss::kNotMeasured), 1U);
}

TEST_F(TimesReaderTest, EntriesThatAreNotWholeEndTheirChunk) {
  std::string good = entry(INJECTION_ACTIVITY, kernel());
  std::string too_long = good;
  uint32_t bytes = UINT32_MAX;
  std::memcpy(too_long.data() + 4, &bytes, sizeof(bytes));
  write(0, good + too_long);
  write(1, good + good.substr(0, 20));
  injection_name name{1, UINT32_MAX};
  write(2, entry(77, kernel()) + entry(INJECTION_NAME, name, "abc") + entry(INJECTION_STATE, 0) +
               good);
  read();
  EXPECT_EQ(activities_.size(), 3U);
  EXPECT_EQ(lost(TimesLoss::kBad), 5U);
  memory_->chunks[0].written = UINT32_MAX;
  memory_->chunks[0].read = UINT32_MAX;
  memory_->chunks[0].state = INJECTION_FULL;
  read();
  EXPECT_EQ(activities_.size(), 3U);
}

TEST_F(TimesReaderTest, NoiseIsSurvived) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(INJECTION_CHUNK_BYTES - 64, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % (round % 2 == 0 ? 256 : 4));
    write(static_cast<uint32_t>(round % 4), bytes, static_cast<uint32_t>(1 + random() % 2));
    read();
  }
  EXPECT_GT(lost(TimesLoss::kBad), 0U);
}

TEST_F(TimesReaderTest, TheChunkOfAKilledProgramIsFreed) {
  pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  write(0, entry(INJECTION_ACTIVITY, kernel()), INJECTION_TAKEN);
  memory_->chunks[0].tgid = static_cast<uint32_t>(child);
  read();
  EXPECT_EQ(activities_.size(), 1U);
  EXPECT_EQ(memory_->chunks[0].state, INJECTION_FREE);
}

TEST(TimesCost, IsMeasuredWithRecordsThatAllArrive) { EXPECT_GT(handlingCost_ns(), 0); }

int endless(uint8_t* buffer, size_t, void** record) {
  *record = buffer;
  return CUPTI_OK;
}
int outside(uint8_t* buffer, size_t valid_bytes, void** record) {
  if (*record != nullptr) return CUPTI_NO_MORE_RECORDS;
  *record = buffer + valid_bytes;
  return CUPTI_OK;
}
int failing(uint8_t*, size_t, void**) { return 999; }

TEST(InjectionSend, ABufferThatIsNotWholeIsLeft) {
  auto made = TimesArea::make({}, uint64_t{4} * INJECTION_CHUNK_BYTES);
  ASSERT_TRUE(made.ok());
  injection_sender sender{};
  sender.area = &*made.value();
  std::vector<uint8_t> buffer(64);
  uint32_t kind = CUPTI_CONCURRENT_KERNEL;
  std::memcpy(buffer.data(), &kind, sizeof(kind));
  EXPECT_EQ(injectionSend(&sender, endless, buffer.data(), buffer.size()), 0U);  // 64 < 112 bytes
  EXPECT_EQ(injectionSend(&sender, outside, buffer.data(), buffer.size()), 0U);
  EXPECT_EQ(injectionSend(&sender, failing, buffer.data(), buffer.size()), 0U);
  EXPECT_EQ(sender.area->head.losses[INJECTION_LOST_BAD], 3U);
  kind = CUPTI_MEMSET;
  std::memcpy(buffer.data(), &kind, sizeof(kind));
  EXPECT_EQ(injectionSend(&sender, endless, buffer.data(), buffer.size()), 9U);  // and no more
  EXPECT_EQ(injectionSend(&sender, endless, buffer.data(), 0), 0U);
}

TEST(InjectionSend, WithoutRoomRecordsAreCounted) {
  auto made = TimesArea::make({}, INJECTION_CHUNK_BYTES);
  ASSERT_TRUE(made.ok());
  injection_sender sender{};
  sender.area = &*made.value();
  std::vector<uint8_t> buffer(8 * 3000);
  uint32_t kind = CUPTI_MEMSET;
  std::memcpy(buffer.data(), &kind, sizeof(kind));
  constexpr uint64_t kFit = (INJECTION_CHUNK_BYTES - 64) / 56;
  EXPECT_EQ(injectionSend(&sender, endless, buffer.data(), buffer.size()), kFit);
  EXPECT_EQ(sender.area->head.losses[INJECTION_LOST_ROOM], 3001 - kFit);
}

}  // namespace
}  // namespace tidegauge::record
