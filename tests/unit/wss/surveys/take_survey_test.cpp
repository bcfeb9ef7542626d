#include "wss/surveys/take_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/wss/fake_proc.h"
#include "wss/choice/open_survey.h"

namespace tidegauge::wss {
namespace {

constexpr int64_t kSecond_ns = 1'000'000'000;

// Has its result after three windows.
class ThreeWindows final : public Survey {
 public:
  explicit ThreeWindows(bool ends_with_result) : ends_with_result_(ends_with_result) {}
  SurveyHead head(int64_t /*window_ns*/) const override {
    return {.name = "three", .ends_with_result = ends_with_result_};
  }
  base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) override {
    if (windows == 3) return std::optional<SurveyRow>();
    clock.sleep(window_ns);
    windows += 1;
    return std::optional(SurveyRow{.text = "row\n", .fields = {{"window", windows}}});
  }
  SurveyVerdict verdict() const override { return {}; }

  int windows = 0;

 private:
  bool ends_with_result_;
};

// How many rows there were; `most`: after which nobody reads them any more.
int rowsOf(bool ends_with_result, const SurveyPlan& plan, FakeClock& clock, int most = 100) {
  ThreeWindows survey(ends_with_result);
  int rows = 0;
  EXPECT_TRUE(
      takeSurvey(survey, plan, clock, [&](const SurveyRow&) { return ++rows < most; }).ok());
  return rows;
}

TEST(TakeSurvey, WithoutAPauseItIsOneWindow) {
  FakeClock clock{0};
  EXPECT_EQ(rowsOf(false, {.window_ns = kSecond_ns}, clock), 1);
  EXPECT_EQ(clock.slept, 1);
}

TEST(TakeSurvey, OneThatHasAResultRunsUntilThen) {
  FakeClock clock{0};
  EXPECT_EQ(rowsOf(true, {.window_ns = kSecond_ns}, clock), 3);
}

TEST(TakeSurvey, EndsAfterTheWindowInWhichTheTimeIsOver) {
  FakeClock clock{0};
  EXPECT_EQ(rowsOf(true, {.window_ns = kSecond_ns, .total_s = 1.5}, clock), 2);
  EXPECT_EQ(rowsOf(false, {.window_ns = kSecond_ns, .pause_ns = kSecond_ns, .total_s = 2}, clock),
            2);
}

TEST(TakeSurvey, EndsInAPauseOrWhenNobodyReads) {
  SurveyPlan plan{.window_ns = kSecond_ns, .pause_ns = kSecond_ns};
  FakeClock clock{0};
  clock.ends_after = 2;  // the second sleep is the first pause
  EXPECT_EQ(rowsOf(false, plan, clock), 1);
  FakeClock endless{0};
  EXPECT_EQ(rowsOf(false, plan, endless, 2), 2);
}

TEST(OpenSurvey, TheCgroupIsBelowTheFolderOfCgroups) {
  auto whyNot = [](const std::string& cgroup) {
    auto survey = openSurvey({.name = "shrink", .cgroup = cgroup}, nullptr);
    return survey.ok() ? std::string("it may") : survey.error().what;
  };
  EXPECT_EQ(whyNot("/sys/fs/cgroup/../../x"), "the path of a cgroup goes up by no ..");
  EXPECT_THAT(whyNot("nowhere-at-all/"), testing::HasSubstr("cgroup /nowhere-at-all"));
  EXPECT_THAT(whyNot("/sys/fs/cgroup/nowhere-at-all"),
              testing::HasSubstr("cgroup /nowhere-at-all"));
  EXPECT_TRUE(isSurvey("spot"));
  EXPECT_FALSE(isSurvey("pte"));
}

}  // namespace
}  // namespace tidegauge::wss
