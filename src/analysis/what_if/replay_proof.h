// What a report proves by replay: whether the rules explain the recording, and the effect of each
// advice that names a setting or a flush.
//
//   advice   Try expandable_segments:True: 807 MiB lay free in 27 pieces …   a rule of thumb
//   effect   no request fails, 34.6 GiB reserved at the peak                 the allocator's rules
//
// Advice that helps comes first, best first; then advice that no replay can test; last what a
// replay disproves. Cost: see what_if.h, so only for recordings of up to kMaxProofSteps steps
// unless requested.
#pragma once

#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "analysis/oom/advice.h"
#include "analysis/what_if/what_if.h"

namespace tidegauge::analysis {

inline constexpr Step kMaxProofSteps = 500'000;

// Which recordings a report replays.
enum class Replays : uint8_t {
  kNone,
  kShort,  // of up to kMaxProofSteps
  kAll,
};

// The same, and what ends the replays early: nothing is proven then.
struct ReplayWish {
  // NOLINTNEXTLINE(google-explicit-constructor)
  ReplayWish(Replays wanted, std::stop_token token = {}) : which(wanted), stop(std::move(token)) {}
  Replays which;
  std::stop_token stop;
};

struct ReplayProof {
  WhatIf what_if;
};

// Replays the own settings, those known to help, and what the advice names; then adds the effects
// to the advice, adds a setting that helps more than all of it, and orders it. `explained`: the
// request that the report explains; what does not let that succeed does not help. Absent: not
// requested, or PyTorch's caching allocator allocated nothing during the recording.
std::optional<ReplayProof> proveAdvice(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                       std::optional<uint64_t> capacity_bytes,
                                       const ReplayWish& replays, std::optional<Step> explained,
                                       std::vector<Advice>& advice);

}  // namespace tidegauge::analysis
