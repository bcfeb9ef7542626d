// The traces for the views' twins: simulated heaps of several sizes, with and without expandable
// segments and a lost beginning.
#pragma once

#include "analysis/trace/analysed_trace.h"
#include "support/simulated_heap.h"

namespace tidegauge::testing {

inline analysis::AnalysedTrace viewTrace(uint64_t seed) {
  HeapOptions options{.seed = seed, .events = 60 + static_cast<int>(seed * 37 % 400)};
  options.expandable = seed % 3 == 0;
  options.drop_first = seed % 2 == 0 ? 40 : 0;
  return analysis::AnalysedTrace(simulate(options).trace);
}

}  // namespace tidegauge::testing
