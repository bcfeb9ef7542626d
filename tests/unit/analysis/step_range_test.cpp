#include "analysis/step_range.h"

#include <gtest/gtest.h>

#include "support/messy_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;

class StepRangeTest : public ::testing::Test {
 protected:
  static model::Trace trace() {
    TraceBuilder b;
    int64_t times[] = {0, 100, 200, 200, 1'000'000, 2'500'000};
    uint64_t address = 0x1000;
    for (int64_t time : times) b.time(7'000'000 + time).alloc(address += 0x1000, 512);
    b.annotation("work", 7'000'100, 7'000'200);
    b.annotation("idle", 7'000'300, 7'000'400);
    return b.build();
  }

  // "2–4", or the error.
  std::string range(const std::string& from, const std::string& to) {
    auto found = stepRange(analysed_, *analysed_.devices[0], from, to);
    if (!found.ok()) return found.error().what;
    return std::to_string(found.value().first) + "–" + std::to_string(found.value().last);
  }

  AnalysedTrace analysed_{trace()};
};

TEST_F(StepRangeTest, StepsTimesAndPhases) {
  EXPECT_EQ(range("", ""), "0–5");
  EXPECT_EQ(range("2", "4"), "2–4");
  EXPECT_EQ(range("100us", "0.2ms"), "1–3") << "both ends belong to it";
  EXPECT_EQ(range("1s", ""), "4–5");
  EXPECT_EQ(range("work", "work"), "1–3");
  EXPECT_EQ(range("work", "1s"), "1–4");
}

TEST_F(StepRangeTest, SnapshotsThatTheProgramTook) {
  TraceBuilder b;
  b.alloc(0x1000, 512);
  for (int i = 0; i < 3; ++i) b.event(model::Action::kSnapshot, 0, 512).alloc(0x2000 + 512 * i, 9);
  AnalysedTrace analysed(b.build());
  auto range = [&](const std::string& from, const std::string& to) {
    auto found = stepRange(analysed, *analysed.devices[0], from, to);
    if (!found.ok()) return found.error().what + " " + found.error().hint;
    return std::to_string(found.value().first) + "–" + std::to_string(found.value().last);
  };
  EXPECT_EQ(range("snapshot#2", "snapshot#3"), "3–5");
  EXPECT_EQ(range("snapshot", ""), "1–6");
  EXPECT_EQ(range("snapshot#4", ""), "cuda:0 has no “snapshot#4” The last is snapshot#3.");
}

TEST_F(StepRangeTest, OneOfSeveralPhasesOfAName) {
  TraceBuilder b;
  for (int64_t i = 0; i < 6; ++i) b.time(100 * i).alloc(0x1000 * (i + 1), 512);
  b.annotation("step", 0, 100).annotation("step", 200, 300).annotation("step#1", 400, 500);
  AnalysedTrace analysed(b.build());
  auto range = [&](const std::string& from, const std::string& to) {
    return stepRange(analysed, *analysed.devices[0], from, to);
  };
  StepRange first = range("step", "step").value();
  EXPECT_EQ(first.first, 0U);
  EXPECT_EQ(first.last, 1U);
  EXPECT_EQ(first.notes,
            std::vector<std::string>{
                "“step” is the first of 2 phases with that name; step#2 is the last."});
  StepRange second = range("step#2", "step#2").value();
  EXPECT_EQ(second.first, 2U);
  EXPECT_EQ(second.last, 3U);
  EXPECT_TRUE(second.notes.empty());
  EXPECT_EQ(range("step#1", "").value().first, 4U) << "a name as it is written comes first";
  EXPECT_EQ(range("step#3", "").error().what, "cuda:0 has no “step#3”");
  EXPECT_EQ(range("step#3", "").error().hint, "The last is step#2.");
  for (const char* text : {"step#0", "step#", "#2", "step#-1", "step#99999999999999999999"}) {
    EXPECT_FALSE(range(text, "").ok()) << text;
  }
}

TEST_F(StepRangeTest, MissingPlacesAreReported) {
  EXPECT_EQ(range("6", ""), "cuda:0 has no step 6");
  EXPECT_EQ(range("99999999999999999999", ""), "cuda:0 has no step 18446744073709551615");
  EXPECT_EQ(range("3s", ""), "cuda:0 has no events at that time");
  EXPECT_EQ(range("3", "1"), "the range is empty: it starts at step 3 and ends at step 1");
  EXPECT_EQ(range("0.5s", "0.6s"), "the range is empty: it starts at step 4 and ends at step 3");
  for (const char* text : {"nothing", "idle", "-1", "1.5", "nan", "infs", "-1s"}) {
    EXPECT_NE(range(text, "").find("has no step, time or annotation"), std::string::npos) << text;
  }
}

TEST(StepRange, MessyTracesAreNotLeft) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    AnalysedTrace analysed(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0}));
    for (const auto& device : analysed.devices) {
      for (const char* text : {"0", "0s", "1us", "9223372036854775807us", "1e300s"}) {
        auto found = stepRange(analysed, *device, text, "");
        EXPECT_TRUE(!found.ok() || found.value().first < device->totals.steps());
        found = stepRange(analysed, *device, "", text);
        EXPECT_TRUE(!found.ok() || found.value().last < device->totals.steps());
      }
    }
  }
}

}  // namespace
}  // namespace tidegauge::analysis
