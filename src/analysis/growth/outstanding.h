// What was never freed, by stack and age: allocations that the program still held when the
// recording ended.
//
//   stack                     bytes   blocks   older | 1st  2nd  3rd  4th quarter of the recording
//   app.py:11 keep_history   120 MiB     60      0 B |  28   32   30   30 MiB       a leak's age
//   model.py:5 weights       14 GiB     291   14 GiB |   –    –    –    –           weights'
//
// Being listed is not a fault: weights are listed. growth.h finds what grows. Cost: O(rows of the
// device).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

struct OutstandingStack {
  StackId stack;  // invalid: no stack recorded
  uint64_t bytes = 0;
  uint64_t blocks = 0;
  uint64_t older_bytes = 0;                    // of these, older than the recording
  std::array<uint64_t, 4> by_quarter_bytes{};  // the others, by the quarter of their allocation
  Step oldest_step = model::kNoStep;           // of the others; kNoStep: there are none
  Step newest_step = model::kNoStep;
  uint32_t largest_row = 0;
};

struct Outstanding {
  uint64_t bytes = 0;
  uint64_t blocks = 0;
  uint64_t older_bytes = 0;
  std::vector<OutstandingStack> stacks;  // most bytes first
};

// Blocks that the program asked to free, but that a stream still used, do not count.
Outstanding neverFreed(const AnalysedTrace& analysed, const DeviceAnalysis& device);

}  // namespace tidegauge::analysis
