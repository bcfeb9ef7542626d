// The judgement on a device: why its explained out-of-memory event failed, if there is one, and
// what to try, as far as possible proven by replay.
#pragma once

#include <optional>
#include <vector>

#include "analysis/oom/advice.h"
#include "analysis/summary.h"
#include "analysis/what_if/replay_proof.h"

namespace tidegauge::analysis {

struct Judgement {
  std::optional<OomVerdict> verdict;  // on the event
  std::vector<Advice> advice;         // best first
  std::optional<ReplayProof> proof;   // absent: nothing was replayed
};
// On the summary's explained event, if there is one. `total_bytes` of the device, if the user gave
// it.
Judgement judge(const AnalysedTrace& analysed, const DeviceSummary& summary,
                std::optional<uint64_t> total_bytes = {},
                const ReplayWish& replays = Replays::kNone);
// On summary.ooms[oom].
Judgement judgeOom(const AnalysedTrace& analysed, const DeviceSummary& summary, size_t oom,
                   std::optional<uint64_t> total_bytes = {},
                   const ReplayWish& replays = Replays::kNone);

}  // namespace tidegauge::analysis
