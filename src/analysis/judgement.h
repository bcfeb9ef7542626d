// The judgement on a device: why its worst out-of-memory event failed, if there is one, and what to
// try.
#pragma once

#include <optional>
#include <vector>

#include "analysis/oom/advice.h"
#include "analysis/summary.h"

namespace tidegauge::analysis {

struct Judgement {
  std::optional<OomVerdict> verdict;  // on summary.ooms[summary.worst_oom]
  std::vector<Advice> advice;
};
// `total_bytes` of the device, if the user gave it.
Judgement judge(const AnalysedTrace& analysed, const DeviceSummary& summary,
                std::optional<uint64_t> total_bytes = {});

}  // namespace tidegauge::analysis
