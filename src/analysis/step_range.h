// A range of a device's recording as a user writes it: between two steps, times or phases.
//
//   "3101"            step 3101
//   "2.5s" "350ms"    the time since the device's first event
//   "backward"        the first annotation of that name: its beginning, or its end
//   "backward#3"      the third of that name
//   "snapshot#2"      the second snapshot that the program took while it recorded
//
// Both ends belong to the range.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "base/result.h"

namespace tidegauge::analysis {

struct StepRange {
  Step first = 0;
  Step last = 0;
  std::vector<std::string> notes{};  // which of several phases of one name was used
};

// An empty text means the recording's own end. Errors (kUsage) list what exists.
base::Result<StepRange> stepRange(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                  const std::string& from, const std::string& to);

}  // namespace tidegauge::analysis
