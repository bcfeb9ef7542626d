// The peaks of a device, and who held the memory at one of them.
//
//   requested 1,850 MiB at step 3,101     what the program requested
//   active    1,854 MiB at step 3,101     … as whole blocks
//   reserved  1,974 MiB at step 2,960     … from the driver
//
// Cost: the peaks come from the totals; holders O(live).
#pragma once

#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

struct Holders {
  Step step = 0;
  uint64_t block_bytes = 0;
  uint64_t blocks = 0;
  std::vector<StackGroup> groups;  // most bytes first
};
Holders holdersAt(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step);

struct PeakReport {
  Peak requested;
  Peak active;
  Peak allocated;
  Peak reserved;
  // The true active and allocated peaks lie between the values above and these plus this: blocks
  // older than the recording, whose sizes only the requests show. 0 for a complete recording.
  uint64_t uncertain_bytes = 0;
  Holders holders;  // at the active peak
};
PeakReport peakOf(const AnalysedTrace& analysed, const DeviceAnalysis& device);

}  // namespace tidegauge::analysis
