#include "wss/surveys/hold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/wss/surveys/taken_cgroup.h"

namespace tidegauge::wss {
namespace {

using testing::HasSubstr;

TEST(Hold, TakesLessTheLongerTasksWait) {
  EXPECT_EQ(bytesToTake(200 * kMiB, 0, 0.1), 2 * kMiB);
  EXPECT_EQ(bytesToTake(200 * kMiB, 0.05, 0.1), kMiB);
  EXPECT_EQ(bytesToTake(200 * kMiB, 0.1, 0.1), 0U);
  EXPECT_EQ(bytesToTake(200 * kMiB, 7, 0.1), 0U);
  EXPECT_EQ(bytesToTake(kMiB, 0, 0.1), kMiB / 100);
}

TEST(Hold, HeldIsWhatCameAfterTheFirstWait) {
  ReclaimStep quiet{.after = 90 * kMiB, .stalled_percent = 0};
  ReclaimStep waits{.after = 40 * kMiB, .stalled_percent = 3};
  ReclaimStep after{.after = 42 * kMiB, .stalled_percent = 0};
  EXPECT_FALSE(heldIn({}, 1).has_value());
  EXPECT_FALSE(heldIn({quiet, quiet}, 1).has_value());
  auto held = heldIn({quiet, waits, after, after}, 1);
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(held->windows, 3U);
  EXPECT_EQ(held->least_bytes, 40 * kMiB);
  EXPECT_EQ(held->most_bytes, 42 * kMiB);
  EXPECT_EQ(held->mean_bytes, 124 * kMiB / 3);
  EXPECT_DOUBLE_EQ(held->stalled_percent, 1);
}

class HoldOfCgroup : public testing::Test, public TakenCgroup {
 protected:
  Hold hold(double wanted) { return {reclaimer().value(), wanted}; }
  // The step that is taken, as its row has it; absent: there is none.
  static std::optional<nlohmann::json> next(Hold& hold, FakeClock& clock) {
    auto row = hold.next(clock, kWindow_ns);
    if (!row.ok() || !row.value()) return std::nullopt;
    return row.value()->fields;
  }
};

TEST_F(HoldOfCgroup, EndsAtWhatIsTouched) {
  Hold hold = this->hold(0.5);
  for (int window = 0; window < 300; ++window) {
    // Who finds its memory gone waits, 20 ms in all.
    uint64_t before = back_;
    auto step = next(hold, clock_);
    ASSERT_TRUE(step.has_value());
    wait_us_ = back_ > before ? 2'000 : 0;
  }
  SurveyVerdict verdict = hold.verdict();
  EXPECT_FALSE(verdict.broken.has_value());
  ASSERT_TRUE(verdict.fields["held"].is_object()) << verdict.fields;
  EXPECT_EQ(verdict.fields["held"]["mean_bytes"], touched_);
  EXPECT_THAT(verdict.text, HasSubstr("held 40.0 MiB on average"));
  EXPECT_THAT(verdict.text, HasSubstr("It had 100 MiB at the beginning"));
}

TEST_F(HoldOfCgroup, SaysThatTheGoalWasNotReached) {
  Hold hold = this->hold(0.5);
  next(hold, clock_);
  EXPECT_TRUE(hold.verdict().fields["held"].is_null());
  // In these files, what is reclaimed is missing only later.
  EXPECT_THAT(hold.verdict().text, HasSubstr("No more memory can be reclaimed."));
}

// Of 10 MiB a hundredth is 102 KiB: three of them are reclaimed at once.
TEST_F(HoldOfCgroup, TakesLittleInOnePart) {
  current_ = 10 * kMiB, touched_ = 0;
  tell();
  Hold hold = this->hold(0.5);
  for (int window = 0; window < 6; ++window) next(hold, clock_);
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_NEAR(static_cast<double>(asked_[0]), 0.03 * 10 * kMiB, kMiB / 100);
}

TEST_F(HoldOfCgroup, EndsWhereTasksWaitTooLong) {
  Hold hold = this->hold(0.5);
  wait_us_ = 30'000;  // in each tenth of a second
  EXPECT_TRUE(next(hold, clock_).has_value());
  EXPECT_FALSE(next(hold, clock_).has_value());
  EXPECT_TRUE(hold.verdict().broken.has_value());
  EXPECT_THAT(hold.verdict().text, HasSubstr("--max-pressure 10"));
}

}  // namespace
}  // namespace tidegauge::wss
