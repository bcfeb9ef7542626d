// Allocations by stack over the recording: in all, at most at once and when, at the overall peak,
// and at the end. Two passes over the allocations, one by birth and one by end.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "view/filter/filter_set.h"

namespace tidegauge::view {

struct StackSum {
  model::StackId stack;  // invalid: none recorded, or only that of the free
  uint64_t count = 0;
  uint64_t total_bytes = 0;  // of all blocks ever
  uint64_t largest_bytes = 0;
  uint64_t peak_bytes = 0;  // most at once
  analysis::Step peak_step = 0;
  uint64_t at_peak_bytes = 0;  // at the highest active total of the device
  uint64_t at_end_bytes = 0;
  uint64_t at_end_count = 0;
  uint64_t steps_sum = 0;  // of their lives
  uint32_t first_row = 0;
};

// By stack id; rows without a stack last. Only allocations that pass.
std::vector<StackSum> stackSums(const analysis::AnalysedTrace& analysed,
                                const analysis::DeviceAnalysis& device, const FilterSet* filter);

}  // namespace tidegauge::view
