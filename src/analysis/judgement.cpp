#include "analysis/judgement.h"

namespace tidegauge::analysis {

Judgement judgeOom(const AnalysedTrace& analysed, const DeviceSummary& summary, size_t oom,
                   std::optional<uint64_t> total_bytes, const ReplayWish& replays) {
  const DeviceAnalysis& device = *summary.device;
  Judgement judgement;
  judgement.verdict.emplace(verdictOf(analysed, device, summary.ooms[oom],
                                      verdictOptions(analysed, device, summary.ooms, total_bytes)));
  judgement.advice = adviceOn(analysed, device, *judgement.verdict);
  judgement.proof = proveAdvice(analysed, device, total_bytes, replays, judgement.verdict->step,
                                judgement.advice);
  return judgement;
}

Judgement judge(const AnalysedTrace& analysed, const DeviceSummary& summary,
                std::optional<uint64_t> total_bytes, const ReplayWish& replays) {
  if (!summary.ooms.empty())
    return judgeOom(analysed, summary, summary.explained_oom, total_bytes, replays);
  Judgement judgement;
  judgement.advice = adviceOn(analysed, *summary.device);
  judgement.proof =
      proveAdvice(analysed, *summary.device, total_bytes, replays, std::nullopt, judgement.advice);
  return judgement;
}

}  // namespace tidegauge::analysis
