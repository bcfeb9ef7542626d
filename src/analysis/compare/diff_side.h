// One side of a comparison: a place in a recording, and what was live there.
//
//   "peak"            the highest active total                      (the default)
//   "end"             the last state
//   "oom"             the out-of-memory event that lacked the most bytes
//   "phase:NAME#2"    the highest active total inside the second phase of that name
//   "step:3101"       after that step; "3101" alone means the same
//   "time:2.5s"       after the last event up to that time since the first event; also "2.5s"
//
// Without a device, all GPUs are added up, each at its own such place: their peaks need not be at
// the same moment. Pinned host memory is never added to them: use device −1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "base/result.h"

namespace tidegauge::analysis {

struct DiffPoint {
  const DeviceAnalysis* device = nullptr;
  Step step = 0;          // the state after it; without events: the final state
  bool at_start = false;  // the state before the first event instead
  Peak place() const { return {0, step, at_start}; }
};

struct DiffSide {
  const AnalysedTrace* analysed = nullptr;
  std::vector<DiffPoint> points;  // one per device
  std::vector<uint32_t> rows;     // allocations that are live there
  Totals totals;                  // from the totals index, not from the rows, to check them
  std::string at;                 // "the peak", "the end of the recording", "step 3,101", …
  std::vector<std::string> notes;
};

// The requested device, or all GPUs. Errors (kUsage) list the devices that exist.
base::Result<std::vector<const DeviceAnalysis*>> diffDevices(const AnalysedTrace& analysed,
                                                             std::optional<int32_t> ordinal);

// O(live + births since a checkpoint); "oom" O(events). Errors (kUsage) say which device has no
// such place.
base::Result<DiffSide> diffSide(const AnalysedTrace& analysed,
                                const std::vector<const DeviceAnalysis*>& devices,
                                const std::string& text);

}  // namespace tidegauge::analysis
