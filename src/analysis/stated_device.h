// Whether the recorded device can be as small as the user says. What was reserved was on it.
//
//   --capacity 1GiB              error: this process had 3.91 GiB reserved
//   --recorded-fraction 0.1      of 16 GiB: the same error
//
// A MemPool may have an allocator of its own that unmaps memory, which PyTorch still counts. With
// one, and without a complete list of events, nothing is refused. Cost: O(pools).
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/trace/analysed_trace.h"
#include "base/result.h"

namespace tidegauge::analysis {

struct StatedDevice {
  std::optional<uint64_t> capacity_bytes;
  std::optional<double> fraction;  // of it, that the process could have; absent: all
};

// Error (kUsage): the process had more reserved.
base::Status checkStated(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                         const StatedDevice& stated);

}  // namespace tidegauge::analysis
