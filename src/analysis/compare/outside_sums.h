// The sums of Outside: what the driver had allocated besides PyTorch's segments, at each moment, by
// stack and kind.
//
//   snapshot's last event ──── snapshot taken, when? ──── its file written
//   outside: 380 MiB            +500 MiB at the latest, which is shown as 380 to 880 MiB
//
// Cost: O(rows of the driver × log) per moment.
#pragma once

#include <optional>

#include "analysis/compare/outside.h"

namespace tidegauge::analysis {

// Fills outside.devices and unknown_device_bytes from outside.recording and outside.match.
void addSums(const AnalysedTrace& snapshot, std::optional<int64_t> written_ns, Outside& outside);

}  // namespace tidegauge::analysis
