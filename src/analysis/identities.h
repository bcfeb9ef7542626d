// Identities: sums that must hold in every file. They are checked in every file and shown.
//
// clang-format off
//   drawn      live = traced + older than the recording + lost, at every step
//   live       at the end: live by the trace = active blocks of the final state
//   reserved   at the end: owned by the trace = the final segments; at the end and at both peaks:
//              reserved = live + free of the layout, part by part; at every step: active ≤ reserved
//   segments   in the final state: a segment's size and totals = the sums of its blocks
//   checksums  at snapshot events, if there are any: live = the active bytes that the event states
// clang-format on
//
// A broken identity is not an error: it is a contradiction in the file, shown with its size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

struct ByProvenance {
  uint64_t traced_bytes = 0;
  uint64_t older_bytes = 0;  // before_recording and ghosts
  uint64_t lost_bytes = 0;
  uint64_t sum() const { return traced_bytes + older_bytes + lost_bytes; }
};
// Live block bytes after a step, by provenance. O(live).
ByProvenance byProvenance(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step);
ByProvenance byProvenance(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                          const Peak& peak);

struct Identity {
  std::string name;  // "drawn", …
  bool holds = true;
  uint64_t difference_bytes = 0;
  std::string text{};  // the sum in words and numbers
};
std::vector<Identity> identitiesOf(const AnalysedTrace& analysed, const DeviceAnalysis& device);

}  // namespace tidegauge::analysis
