// Which recordings a report replays.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/what_if/replay_proof.h"

namespace tidegauge::report {

enum class Replays : uint8_t {
  kNone,
  kShort,  // of up to kMaxProofSteps
  kAll,
};

// The replay for the sections of a device; absent: not replayed.
inline std::optional<analysis::ReplayProof> proofFor(const analysis::AnalysedTrace& analysed,
                                                     const analysis::DeviceAnalysis& device,
                                                     const std::vector<analysis::Advice>& advice,
                                                     std::optional<uint64_t> capacity_bytes,
                                                     Replays replays) {
  bool is_short = device.totals.steps() <= analysis::kMaxProofSteps;
  if (replays == Replays::kNone || (replays == Replays::kShort && !is_short)) return std::nullopt;
  return analysis::proofOf(analysed, device, advice, capacity_bytes);
}

}  // namespace tidegauge::report
