// What the device measured finds the process that it is of, or is counted.
#include <gtest/gtest.h>

#include <cstring>

#include "record/kernel/even_clock.h"
#include "record/session/session.h"
#include "support/quiet_source.h"

namespace tidegauge::record {
namespace {

constexpr uint32_t kTimedPid = 4'000'000'000U;  // none of this machine

class SessionTimesTest : public ::testing::Test {
 protected:
  SessionTimesTest() {
    auto area = TimesArea::make({}, uint64_t{4} * INJECTION_CHUNK_BYTES);
    EXPECT_TRUE(area.ok());
    memory_ = &*area.value();
    session_.takeTimes(TimesReader(std::move(area.value())));
  }

  template <class T>
  static void append(injection_chunk& chunk, uint32_t type, const T& content) {
    injection_entry head{type, sizeof(content)};
    std::memcpy(chunk.bytes + chunk.written, &head, sizeof(head));
    std::memcpy(chunk.bytes + chunk.written + sizeof(head), &content, sizeof(content));
    chunk.written += static_cast<uint32_t>(sizeof(head) + (sizeof(content) + 7) / 8 * 8);
  }
  // A program says what became of CUPTI, and of two kernels that ran.
  void deliver(uint32_t image, uint32_t pid, injection_outcome outcome = INJECTION_TIMES) {
    injection_chunk& chunk = memory_->chunks[0];
    chunk.tgid = pid;
    chunk.image = image;
    chunk.read = chunk.written = 0;
    injection_state state{};
    state.outcome = static_cast<uint32_t>(outcome);
    append(chunk, INJECTION_STATE, state);
    injection_activity kernel{};
    kernel.start_ns = EvenClock::ofSystem_ns(CLOCK_MONOTONIC);
    kernel.end_ns = kernel.start_ns + 500;
    append(chunk, INJECTION_ACTIVITY, kernel);
    append(chunk, INJECTION_ACTIVITY, kernel);
    chunk.state = INJECTION_FULL;
  }
  void see(uint32_t index, uint32_t pid) {
    SeenProcess process;
    process.index = index;
    process.pid = pid;
    process.name = "train";
    process.first_ns = testing::kLongAgo_ns;
    session_.processSeen(process);
  }
  void tick() { ASSERT_TRUE(session_.tick(source_).ok()); }
  uint64_t unknown() const {
    return session_.times().losses()[static_cast<size_t>(TimesLoss::kNobody)];
  }

  injection_area* memory_ = nullptr;
  testing::QuietSource source_;
  Session session_{std::nullopt};
};

TEST_F(SessionTimesTest, RowsWaitForTheirProcess) {
  deliver(1, kTimedPid);
  for (int i = 0; i < 3; ++i) tick();
  EXPECT_EQ(session_.times().activities(), 0U);
  see(0, kTimedPid);
  tick();
  EXPECT_EQ(session_.times().activities(), 2U);
  EXPECT_EQ(unknown(), 0U);
}

TEST_F(SessionTimesTest, RowsOfAProcessThatNobodySawAreCounted) {
  see(0, kTimedPid);
  deliver(1, kTimedPid - 1);
  tick();
  EXPECT_EQ(unknown(), 0U);
  ASSERT_TRUE(session_.finish(source_).ok());
  EXPECT_EQ(unknown(), 2U);
  EXPECT_EQ(session_.times().activities(), 0U);
}

// Its number may be used again: what comes late is not of the next process that has it.
TEST_F(SessionTimesTest, AForgottenProgramKeepsItsProblemAndNothingElse) {
  see(0, kTimedPid);
  deliver(1, kTimedPid, INJECTION_NO_LIBRARY);
  for (int i = 0; i < 2; ++i) tick();
  ASSERT_EQ(session_.times().problems().size(), 1U);
  session_.processEnded(0, testing::kLongAgo_ns + 1, 0);
  ASSERT_TRUE(session_.finish(source_).ok());  // forgets what ended long ago
  ASSERT_EQ(session_.keeps().processes, 0U);
  ASSERT_EQ(session_.times().problems().size(), 1U);
  EXPECT_NE(session_.times().problems()[0].find("libcupti was not found"), std::string::npos);
  see(1, kTimedPid);
  deliver(1, kTimedPid);
  ASSERT_TRUE(session_.finish(source_).ok());
  EXPECT_EQ(unknown(), 2U);
  deliver(2, kTimedPid);
  ASSERT_TRUE(session_.finish(source_).ok());
  EXPECT_EQ(session_.times().activities(), 4U);
}

}  // namespace
}  // namespace tidegauge::record
