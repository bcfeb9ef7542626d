#include "query/scan/deadline.h"

#include <gtest/gtest.h>

#include "query/functions/answer_tables.h"
#include "support/trace_builder.h"

namespace tidegauge::query {
namespace {

using Clock = std::chrono::steady_clock;

TEST(StopAt, IsAskedByTheTimeOrByTheCaller) {
  EXPECT_FALSE(StopAt(Deadline{}).token().stop_requested());
  EXPECT_FALSE(StopAt(Deadline{Clock::now() + std::chrono::hours(1)}).token().stop_requested());
  StopAt timed(Deadline{Clock::now() + std::chrono::milliseconds(1)});
  for (int i = 0; i < 10'000 && !timed.token().stop_requested(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(timed.token().stop_requested());
  std::stop_source source;
  StopAt asked(Deadline{.stop = source.get_token()});
  EXPECT_FALSE(asked.token().stop_requested());
  source.request_stop();
  EXPECT_TRUE(asked.token().stop_requested());
}

TEST(StopAt, EndsReplaysAndKeepsNoneThatWereCut) {
  testing::TraceBuilder b;
  b.segmentAlloc(0x100000, 2 << 20).alloc(0x100000, 512).free(0x100000, 512);
  b.finalSegment(0x100000, 2 << 20).block(2 << 20, model::BlockState::kInactive);
  analysis::AnalysedTrace trace(b.build());
  std::stop_source stopped;
  stopped.request_stop();
  std::vector<TableFunction> functions = replayFunctions(trace);
  for (TableFunction& advice : verdictFunctions(trace)) functions.push_back(std::move(advice));
  int stoppable = 0;
  for (const TableFunction& function : functions) {
    std::vector<int64_t> arguments(function.arguments.size());
    auto cut = function.call(arguments, Deadline{.stop = stopped.get_token()});
    if (!cut.ok()) {
      EXPECT_EQ(cut.error().kind, base::ErrorKind::kLimit) << function.name;
      ++stoppable;
    }
    EXPECT_TRUE(function.call(arguments, Deadline{}).ok()) << function.name;
  }
  EXPECT_EQ(stoppable, 4);  // replays, advice, and both at a given size
}

}  // namespace
}  // namespace tidegauge::query
