#include "report/page/page_json.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using nlohmann::json;
using testing::TraceBuilder;

TEST(SessionFileJson, CountsEveryOutOfMemoryAndListsTheFirst) {
  TraceBuilder b;
  for (int i = 0; i < 1201; ++i) b.oom(1 << 20, 100 << 20);
  AnalysedTrace analysed(b.build());
  json device = sessionFileJson(analysed, 0, "x")["devices"][0];
  EXPECT_EQ(device["oom_count"], 1201);
  EXPECT_EQ(device["ooms"].size(), 1000U);
}

TEST(SessionFileJson, ListsTheStepsBeforeWhichEventsAreMissing) {
  TraceBuilder b;
  b.time(50).alloc(kA, kMiB).free(kA, kMiB).alloc(kA, kMiB);
  model::Trace trace = b.build();
  trace.devices[0].gaps = {3};
  AnalysedTrace analysed(std::move(trace));
  json device = sessionFileJson(analysed, 0, "x")["devices"][0];
  EXPECT_EQ(device["gaps"], json::array({{{"step", 3}, {"time_us", 53}}}));
}

}  // namespace
}  // namespace tidegauge::report
