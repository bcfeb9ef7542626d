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

}  // namespace
}  // namespace tidegauge::report
