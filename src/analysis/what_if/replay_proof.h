// What a report proves by replay: whether the rules explain the recording, and the effect of the
// settings that its advice names and of those known to help.
//
//   advice  Try expandable_segments:True: 807 MiB lay free in 27 pieces …   a rule of thumb
//   proof   replayed, no request fails, 34.6 GiB reserved at the peak       the allocator's rules
//
// Cost: see what_if.h, so only for recordings of up to kMaxProofSteps steps unless requested.
#pragma once

#include <optional>
#include <vector>

#include "analysis/oom/advice.h"
#include "analysis/what_if/what_if.h"

namespace tidegauge::analysis {

inline constexpr Step kMaxProofSteps = 500'000;

struct ReplayProof {
  WhatIf what_if;
  // The candidates that are settings of the advice, in its order; absent: it names none.
  std::vector<std::optional<size_t>> of_advice;
  // The effect of the advice at that index; null: not proven.
  const Replayed* of(size_t advice) const {
    if (advice >= of_advice.size() || !of_advice[advice] || !what_if.isProven()) return nullptr;
    const Replayed& it = what_if.candidates[*of_advice[advice]];
    return it.stopped_at || what_if.own.stopped_at ? nullptr : &it;
  }
};

// Absent: PyTorch's caching allocator allocated nothing during the recording.
std::optional<ReplayProof> proofOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                   const std::vector<Advice>& advice,
                                   std::optional<uint64_t> capacity_bytes);

}  // namespace tidegauge::analysis
