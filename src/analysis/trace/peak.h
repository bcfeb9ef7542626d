// The peaks of a device, and who held the memory at one of them.
//
//   requested 1,850 MiB at step 3,101     what the program requested
//   active    1,854 MiB at step 3,101     … as whole blocks
//   reserved  1,974 MiB at step 2,960     … from the driver
//
// If no later state is as high as that before the first event, the peak is at the start of the
// recording.
//
// Cost: the peaks come from the totals; holders O(live).
#pragma once

#include <optional>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "model/lives/missing_actions.h"

namespace tidegauge::analysis {

struct Holders {
  Step step = 0;
  bool at_start = false;  // before the first event, not after `step`
  uint64_t block_bytes = 0;
  uint64_t blocks = 0;
  std::vector<StackGroup> groups;  // most bytes first
  // In SQL and JSON, as Peak::place().
  int64_t place() const { return at_start ? Peak::kPlaceOfStart : int64_t{step}; }
};
Holders holdersAt(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step);
Holders holdersAt(const AnalysedTrace& analysed, const DeviceAnalysis& device, const Peak& peak);

// Rows of trace.allocations that are live there.
std::vector<uint32_t> liveAt(const DeviceAnalysis& device, const Peak& peak);
inline bool isLiveAt(const model::Trace& trace, uint32_t row, const Peak& peak) {
  return peak.at_start ? liveBefore(trace, row) : liveAfter(trace, row, peak.step);
}

// A snapshot without history contains only its final state. So does one that was recorded with
// enabled="state": each device keeps one event. What was highest before is unknown then.
bool hasOnlyState(const model::Trace& trace, const model::Device& device);

// What is certain of the active peak if kinds of events are missing in the recording
// (model/lives/missing_actions.h).
struct PeakBounds {
  uint64_t at_least_bytes = 0;  // the highest sum of blocks that are certainly live
  // With the longest lives and the largest blocks; model::kUnknownBytes: nothing bounds it.
  uint64_t at_most_bytes = 0;
  uint64_t initial_at_most_bytes = 0;  // the latter before the first event
  bool blocks_unseen = false;  // neither allocs nor frees are recorded: at most what is reserved
};

struct PeakReport {
  Peak requested;
  Peak active;
  Peak allocated;
  Peak reserved;
  // The true active and allocated peaks lie between the values above and these plus this: blocks
  // older than the recording, whose sizes only the requests show. In a recording of calls, the true
  // peak may be lower, too: model::PeakSlack. 0 for a complete recording of one thread.
  uint64_t uncertain_bytes = 0;
  uint64_t reserved_uncertain_bytes = 0;  // the same of the reserved peak
  bool is_order_uncertain = false;        // calls that ran at the same time add to these
  // The true active and allocated peaks may be higher: see isPeakAtLeast().
  bool is_at_least = false;
  Holders holders;  // at the active peak; if the file has only a state, at the end
  model::Bounds bounds{};
  std::optional<PeakBounds> active_bounds{};  // unless all lives are known
};
// Absent if all lives are known. O(allocations + steps).
std::optional<PeakBounds> activeBounds(const AnalysedTrace& analysed, const DeviceAnalysis& device);
PeakReport peakOf(const AnalysedTrace& analysed, const DeviceAnalysis& device);

// Over the states after steps first … last: were sizes inferred (of a block that only its request
// shows), or blocks (without the births of segments, or across a gap)? Then active memory may have
// been higher than what is drawn. False if it is bounded from above alone. O(allocations).
bool isPeakAtLeast(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step first,
                   Step last);

// The peaks over steps first … last, without holders. The state before `first` counts, too: a part
// may begin at its highest state. That peak is at first − 1 or, for step 0, at the start.
PeakReport peaksOver(const TotalsIndex& totals, Step first, Step last);

}  // namespace tidegauge::analysis
