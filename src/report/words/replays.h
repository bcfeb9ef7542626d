// Which recordings a report replays.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/what_if/replay_proof.h"

namespace tidegauge::exporting {

enum class Replays : uint8_t {
  kNone,
  kShort,  // of kMostProofSteps and less
  kAll,
};

// What its sections say of a device; not set: it is not replayed.
inline std::optional<analysis::ReplayProof> proofFor(const analysis::AnalysedTrace& analysed,
                                                     const analysis::DeviceAnalysis& device,
                                                     const std::vector<analysis::Advice>& advice,
                                                     std::optional<uint64_t> capacity_bytes,
                                                     Replays replays) {
  bool is_short = device.totals.steps() <= analysis::kMostProofSteps;
  if (replays == Replays::kNone || (replays == Replays::kShort && !is_short)) return std::nullopt;
  return analysis::proofOf(analysed, device, advice, capacity_bytes);
}

}  // namespace tidegauge::exporting
