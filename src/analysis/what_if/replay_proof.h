// What a report says by replay: whether the recording is explained, and what the settings would
// have done that its advice names, and those that are known to help.
//
//   advice  Try expandable_segments:True: 807 MiB lay free in 27 pieces …   a rule of thumb
//   proof   replayed, no request fails, 34.6 GiB reserved at the peak       the allocator's rules
//
// Cost: that of what_if.h, so only of recordings of kMaxProofSteps and less unless it is asked for.
#pragma once

#include <optional>
#include <vector>

#include "analysis/oom/advice.h"
#include "analysis/what_if/what_if.h"

namespace tidegauge::analysis {

inline constexpr Step kMaxProofSteps = 500'000;

struct ReplayProof {
  WhatIf what_if;
  // Candidates that settings of the advice are, in its order; not set: it names none.
  std::vector<std::optional<size_t>> of_advice;
  // What the advice at that place would have done; null: nothing proves it.
  const Replayed* of(size_t advice) const {
    if (advice >= of_advice.size() || !of_advice[advice] || !what_if.isProven()) return nullptr;
    const Replayed& it = what_if.candidates[*of_advice[advice]];
    return it.stopped_at || what_if.own.stopped_at ? nullptr : &it;
  }
};

// Not set: nothing was handed out by PyTorch's caching allocator while it was recorded.
std::optional<ReplayProof> proofOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                   const std::vector<Advice>& advice,
                                   std::optional<uint64_t> capacity_bytes);

}  // namespace tidegauge::analysis
