#include <gtest/gtest.h>

#include "analysis/summary.h"
#include "report/story/report_parts.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

std::string toldOfTurnover(double turnover) {
  testing::TraceBuilder b;
  b.alloc(0x7f0000000000, 512);
  analysis::AnalysedTrace analysed(b.build());
  analysis::DeviceSummary summary = analysis::summarise(analysed, *analysed.devices[0]);
  summary.growth.verdict = analysis::Growth::Verdict::kTooLittleTurnover;
  summary.growth.turnover = turnover;
  return plainText(growthSections({analysed, summary}).at(0).sentences.at(0).parts);
}

// "5.0 times. At least 5 times are needed" would contradict itself.
TEST(ReportGrowth, ATurnoverBelowTheBoundReadsAsBelowIt) {
  auto has = [](double turnover, const std::string& words) {
    std::string told = toldOfTurnover(turnover);
    return told.find("its memory only " + words + " times. At least 5 times") != std::string::npos;
  };
  EXPECT_TRUE(has(1.04, "1.0"));
  EXPECT_TRUE(has(4.94, "4.9"));
  EXPECT_TRUE(has(4.95, "4.950")) << toldOfTurnover(4.95);
  EXPECT_TRUE(has(4.9996, "4.9996")) << toldOfTurnover(4.9996);
}

TEST(ReportGrowth, SaysThatMarksAreTooFew) {
  testing::TraceBuilder b;
  b.alloc(0x7f0000000000, 512);
  analysis::AnalysedTrace analysed(b.build());
  analysis::DeviceSummary summary = analysis::summarise(analysed, *analysed.devices[0]);
  auto said = [&] {
    return plainText(growthSections({analysed, summary}).at(0).sentences.at(0).parts);
  };
  EXPECT_EQ(said(), "The recording is too short to detect growth.");
  summary.growth.points.marked_steps = 3;
  summary.growth.points.marked_name = "snapshot";
  EXPECT_EQ(said(), "3 steps are marked (snapshot), too few for growth: 8 are needed.");
  summary.growth.verdict = analysis::Growth::Verdict::kTooLittleTurnover;
  summary.growth.turnover = 1.5;
  EXPECT_EQ(said(),
            "Growth cannot be detected. 3 steps are marked (snapshot), too few for growth: 8 are "
            "needed. The program reused its memory only 1.5 times. Without such steps, at least 5 "
            "times are needed, because memory always grows within a step.");
  summary.growth.points.marked_steps = 12;
  EXPECT_NE(said().find("12 steps are marked (snapshot), but they cover too little of the "
                        "recording."),
            std::string::npos)
      << said();
  nlohmann::json growth = growthSections({analysed, summary}).at(0).json;
  EXPECT_EQ(growth["marked_steps"], 12);
  EXPECT_EQ(growth["marked_name"], "snapshot");
}

TEST(ReportGrowth, NeverFreedSaysOnlyWhatTheFileShows) {
  testing::TraceBuilder b;
  b.alloc(0x7f0000000000, 512).alloc(0x7f0000100000, 512);
  analysis::AnalysedTrace analysed(b.build());
  analysis::DeviceSummary summary = analysis::summarise(analysed, *analysed.devices[0]);
  std::string said = plainText(growthSections({analysed, summary}).at(1).sentences.at(0).parts);
  EXPECT_EQ(said.find("weights"), std::string::npos) << said;
  EXPECT_NE(said.find("the file does not show whether the program still used them."),
            std::string::npos)
      << said;
}

}  // namespace
}  // namespace tidegauge::report
