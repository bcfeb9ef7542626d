// Random traces with a known truth: a small caching allocator is run with random requests and
// writes both the events and, independently, the totals after every step and the final state.
//
//   SimulatedTrace run = simulate({.seed = 7, .events = 500, .expandable = true, .drop_first =
//   100}); run.trace          what a recording that began after 100 events would contain (lives are
//   built) run.truth[step]    requested, active, allocated, reserved bytes after that step
#pragma once

#include <vector>

#include "analysis/trace/totals.h"
#include "model/trace.h"

namespace tidegauge::testing {

struct HeapOptions {
  uint64_t seed = 1;
  int events = 300;
  bool expandable = false;
  bool late_frees = true;  // some frees complete later
  int drop_first = 0;      // a recording that began later, or whose ring buffer overflowed
  int stacks = 6;
  model::ActionSet skip{};  // kinds of events that the recording leaves out
};

struct SimulatedTrace {
  model::Trace trace;
  std::vector<analysis::Totals> truth;
  analysis::Totals initial;
  std::vector<analysis::Totals> whole_truth;  // also after the events that were left out
};

SimulatedTrace simulate(const HeapOptions& options);

}  // namespace tidegauge::testing
