// A trace that is continued equals one that is read from the beginning, while several traces of
// each process take turns.
#include <gtest/gtest.h>

#include <vector>

#include "readers/recording/growing_recording.h"
#include "readers/recording/open_recording.h"
#include "unit/readers/recording/every_column.h"
#include "unit/readers/recording/tidy_programs.h"

namespace tidegauge::readers::recording {
namespace {

using Shown = std::vector<std::vector<model::Trace>>;

void compare(testing::TidyPrograms& programs, GrowingRecording& recording, Shown& shown) {
  bool lends = programs.pick(3) == 0 && !shown.empty();
  if (lends)
    for (const model::Trace& trace : shown.back()) recording.lend(trace);
  auto now = recording.read();
  ASSERT_TRUE(now.ok()) << now.error().what;
  auto whole = openRecording(programs.path(), {});
  ASSERT_TRUE(whole.ok()) << whole.error().what;
  testing::expectSameTraces(now.value(), whole.value());
  if (::testing::Test::HasFatalFailure()) return;
  shown.push_back(std::move(now).value());
  // What was shown before is read for a while, or not at all.
  while (shown.size() > programs.pick(4)) {
    for (model::Trace& trace : shown.front()) recording.takeBack(std::move(trace));
    shown.erase(shown.begin());
  }
}

TEST(ContinuedTwin, EveryTraceIsAsFromTheBeginning) {
  uint64_t continued = 0;
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::TidyPrograms programs(seed);
    GrowingRecording recording(programs.path(), {.is_followed = true, .takes_back = true});
    Shown shown;
    for (int step = 0; step < 20; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      programs.add(programs.pick(120));
      if (step == 19) programs.finish();
      compare(programs, recording, shown);
      if (HasFatalFailure()) return;
    }
    continued += recording.continuedTraces();
  }
  EXPECT_GT(continued, 80U);
}

}  // namespace
}  // namespace tidegauge::readers::recording
