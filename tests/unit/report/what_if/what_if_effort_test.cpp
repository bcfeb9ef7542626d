// What-if: results do not depend on the number of threads; progress is reported; a stop stops.
#include <gtest/gtest.h>

#include "analysis/what_if/what_if.h"
#include "report/what_if/what_if_text.h"
#include "support/bytes.h"
#include "support/simulated_heap.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

WhatIfWish everything(size_t threads) {
  WhatIfWish wish;
  wish.columns = 50;
  wish.with_known = true;
  wish.with_causes = true;
  wish.min_capacity = true;
  wish.effort.threads = threads;
  return wish;
}

TEST(WhatIfEffort, OneThreadAndManyGiveTheSame) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    AnalysedTrace analysed(
        testing::simulate({.seed = seed, .events = 3000, .expandable = seed % 2 == 0}).trace);
    const DeviceAnalysis& device = *analysed.devices.front();
    auto one = whatIf(analysed, device, everything(1));
    ASSERT_TRUE(one.ok());
    EXPECT_GT(one.value().candidates.size(), 5U);
    std::string wanted = report::whatIfJson(analysed, device, one.value(), false).dump();
    for (size_t threads : {2, 5, 0}) {
      auto many = whatIf(analysed, device, everything(threads));
      ASSERT_TRUE(many.ok());
      EXPECT_EQ(report::whatIfJson(analysed, device, many.value(), false).dump(), wanted)
          << "seed " << seed << ", " << threads << " threads";
    }
  }
}

TEST(WhatIfEffort, EachCandidateIsReportedOnce) {
  AnalysedTrace analysed(testing::simulate({.seed = 5, .events = 500}).trace);
  WhatIfWish wish = everything(3);
  std::vector<size_t> reported;
  size_t all = 0;
  wish.effort.progress = [&](size_t done, size_t of) {
    reported.push_back(done);
    all = of;
  };
  auto report = whatIf(analysed, *analysed.devices.front(), wish);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(reported.size(), report.value().candidates.size() + 1);  // and the recorded settings
  EXPECT_EQ(all, reported.size());
  for (size_t i = 0; i < reported.size(); ++i) EXPECT_EQ(reported[i], i + 1);
}

TEST(WhatIfEffort, AStopAfterTheFirstCandidateStops) {
  AnalysedTrace analysed(testing::simulate({.seed = 5, .events = 500}).trace);
  WhatIfWish wish = everything(1);
  std::stop_source source;
  wish.effort.stop = source.get_token();
  size_t done_at_stop = 0;
  wish.effort.progress = [&](size_t done, size_t) {
    done_at_stop = done;
    source.request_stop();
  };
  EXPECT_FALSE(whatIf(analysed, *analysed.devices.front(), wish).ok());
  EXPECT_EQ(done_at_stop, 1U);
}

TEST(WhatIfEffort, ALongReplayStopsInside) {
  testing::TraceBuilder b;
  constexpr uint64_t kBase = uint64_t{1} << 40;
  b.segmentAlloc(kBase, 2 * kMiB);
  for (int i = 0; i < 50'000; ++i) b.alloc(kBase, 512).free(kBase, 512);
  AnalysedTrace analysed(b.build());
  replay::Tape tape(analysed.trace, analysed.devices.front()->device);
  replay::Verification verified =
      replay::verify(analysed.trace, analysed.devices.front()->device, {});
  std::stop_source source;
  replay::WhatIfOptions options;
  options.stop = source.get_token();
  EXPECT_FALSE(replay::whatIf(tape, verified.program, options).stopped_at.has_value());
  source.request_stop();
  EXPECT_TRUE(replay::whatIf(tape, verified.program, options).stopped_at.has_value());
}

}  // namespace
}  // namespace tidegauge::analysis
