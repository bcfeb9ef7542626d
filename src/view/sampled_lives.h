// The blocks that are live at one of some given steps, in drawing order (bottom first).
//
//   samples            10      20      30
//   a  [5, 25)         ■       ■                begin 0, end 2
//   b  [12, 18)                                 between samples: left out
//   c  [15, 40)                ■       ■        begin 1, end 3
//
// Cost: a scan of last_step over the rows born in the range (about 1 ns each) + O(blocks found).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/analysed_trace.h"

namespace tidegauge::view {

using analysis::Step;

struct SampledLife {
  uint32_t row = 0;    // of trace.allocations
  uint16_t begin = 0;  // samples [begin, end): live
  uint16_t end = 0;
  uint16_t waiting = 0;  // samples [waiting, end): freed, but waiting for other streams
};

// `samples` increase; at most 65,535 of them. Rows from `end_row` on are left out.
std::vector<SampledLife> sampledLives(const model::Trace& trace,
                                      const analysis::DeviceAnalysis& device,
                                      std::span<const Step> samples, uint64_t end_row = UINT64_MAX);

}  // namespace tidegauge::view
