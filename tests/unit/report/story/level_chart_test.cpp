#include "report/story/level_chart.h"

#include <gtest/gtest.h>

#include "base/text_layout.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using testing::TraceBuilder;

using Lines = std::vector<std::string>;

// 64 MiB reserved; active 8 MiB more with each step, then one failing request.
model::Trace stairs() {
  TraceBuilder b;
  b.segmentAlloc(kA, 64 * kMiB);
  for (uint64_t i = 0; i < 8; ++i) b.alloc(kA + i * 8 * kMiB, 8 * kMiB);
  b.oom(8 * kMiB, 16 * kMiB);
  return b.build();
}

TEST(LevelChart, DrawsActiveBelowReserved) {
  AnalysedTrace analysed(stairs());
  Lines lines = levelChart(*analysed.devices[0], {.columns = 24});  // 10 columns, one per step
  ASSERT_EQ(lines.size(), kChartRows + 1);
  EXPECT_EQ(lines[0], "     64.0 MiB ░░░░░░░░██");
  EXPECT_EQ(lines[1], "              ░░░░░░░███");
  EXPECT_EQ(lines[6], "              ░░████████");
  EXPECT_EQ(lines[7], "            0 ░█████████");
  EXPECT_EQ(lines[8], "  step 0 to 9   █ activ…");
}

TEST(LevelChart, MarksRefusalsAndTheCapacity) {
  AnalysedTrace analysed(stairs());
  Lines lines = levelChart(*analysed.devices[0],
                           {.columns = 24, .capacity_bytes = 128 * kMiB, .oom_steps = {9}});
  EXPECT_EQ(lines[0], "      128 MiB ┄┄┄┄┄┄┄┄┄×");
  EXPECT_EQ(lines[3], "");
  EXPECT_EQ(lines[4], "              ░░░░░░░▄██");
  Lines wide = levelChart(*analysed.devices[0],
                          {.columns = 90, .capacity_bytes = 128 * kMiB, .oom_steps = {9}});
  EXPECT_EQ(wide[8],
            "              step 0 to 9   █ active  ░ reserved  ┄ capacity  × out of memory");
  // A capacity far above the peak would leave the chart empty.
  lines = levelChart(*analysed.devices[0], {.columns = 24, .capacity_bytes = kGiB});
  EXPECT_EQ(lines[0].substr(0, 14), "     64.0 MiB ");
}

TEST(LevelChart, LabelsBounds) {
  AnalysedTrace analysed(stairs());
  Lines lines = levelChart(*analysed.devices[0],
                           {.columns = 90, .capacity_bytes = 128 * kMiB, .capacity_at_most = true});
  EXPECT_EQ(lines[0].substr(0, 16), "    ≤ 128 MiB ");  // ≤ has three bytes
  EXPECT_NE(lines[8].find("┄ capacity (at most)"), std::string::npos) << lines[8];
  // Active and reserved are equally high.
  lines = levelChart(*analysed.devices[0], {.columns = 90, .active_at_least = true});
  EXPECT_EQ(lines[0].substr(0, 16), "   ≥ 64.0 MiB ");
  EXPECT_NE(lines[8].find("█ active (at least)  ░ reserved"), std::string::npos) << lines[8];
}

TEST(LevelChart, ShowsThePeakOfEveryColumn) {
  TraceBuilder b;
  b.segmentAlloc(kA, 64 * kMiB);
  for (int i = 0; i < 500; ++i) b.alloc(kA, 512).free(kA, 512);
  b.alloc(kA, 64 * kMiB).free(kA, 64 * kMiB);
  for (int i = 0; i < 500; ++i) b.alloc(kA, 512).free(kA, 512);
  AnalysedTrace analysed(b.build());
  Lines lines = levelChart(*analysed.devices[0], {.columns = 60});
  EXPECT_NE(lines[0].find("█"), std::string::npos) << "one step of 3,000 is the peak";
  for (const std::string& line : lines) EXPECT_LE(base::displayWidth(line), 70U);
}

TEST(LevelChart, IsEmptyWithoutStepsOrMemory) {
  TraceBuilder state;
  state.finalSegment(kA, 2 * kMiB).block(2 * kMiB, model::BlockState::kInactive);
  AnalysedTrace only_state(state.build());
  EXPECT_TRUE(levelChart(*only_state.devices[0], {}).empty());
  TraceBuilder b;
  b.oom(0, kMiB);
  AnalysedTrace nothing(b.build());
  EXPECT_TRUE(levelChart(*nothing.devices[0], {}).empty());
}

TEST(LevelChart, ColoursAreReset) {
  AnalysedTrace analysed(stairs());
  for (const std::string& line :
       levelChart(*analysed.devices[0], {.columns = 40, .colour = true, .oom_steps = {9}})) {
    size_t last = line.rfind("\033[");
    if (last == std::string::npos) continue;
    EXPECT_EQ(line.substr(last), "\033[0m");
  }
}

}  // namespace
}  // namespace tidegauge::report
