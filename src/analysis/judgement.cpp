#include "analysis/judgement.h"

namespace tidegauge::analysis {

Judgement judge(const AnalysedTrace& analysed, const DeviceSummary& summary,
                std::optional<uint64_t> total_bytes) {
  const DeviceAnalysis& device = *summary.device;
  if (summary.ooms.empty()) return {std::nullopt, adviceOn(analysed, device)};
  OomVerdict verdict = verdictOf(analysed, device, summary.ooms[summary.worst_oom],
                                 verdictOptions(*summary.device, summary.ooms, total_bytes));
  std::vector<Advice> advice = adviceOn(analysed, device, verdict);
  return {std::move(verdict), std::move(advice)};
}

}  // namespace tidegauge::analysis
