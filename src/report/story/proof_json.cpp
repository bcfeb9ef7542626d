// The replay's result for the advice on the page.
#include <algorithm>

#include "analysis/judgement.h"
#include "analysis/oom/oom_verdict.h"
#include "report/story/report_json.h"
#include "report/story/report_parts.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {
namespace {

using analysis::Advice;

std::vector<Advice> adviceAt(const analysis::AnalysedTrace& analysed,
                             const analysis::DeviceAnalysis& device,
                             const analysis::DeviceSummary& summary,
                             std::optional<analysis::Step> oom_step) {
  if (!oom_step) return analysis::judge(analysed, summary).advice;
  auto oom = std::ranges::find(summary.ooms, *oom_step, &analysis::OomReport::step);
  if (oom == summary.ooms.end()) return {};
  return analysis::adviceOn(
      analysed, device,
      analysis::verdictOf(analysed, device, *oom, analysis::verdictOptions(device, summary.ooms)));
}

}  // namespace

nlohmann::json proofJson(const analysis::AnalysedTrace& analysed,
                         const analysis::DeviceAnalysis& device,
                         std::optional<analysis::Step> oom_step) {
  analysis::DeviceSummary summary = analysis::summarise(analysed, device);
  std::vector<Advice> advice = adviceAt(analysed, device, summary, oom_step);
  auto proof = proofFor(analysed, device, advice, std::nullopt, Replays::kShort);
  if (!proof) return nullptr;
  SectionContext context{analysed, summary};
  context.proof = &*proof;
  nlohmann::json of_advice = nlohmann::json::array();
  for (size_t i = 0; i < advice.size(); ++i) {
    auto sentence = proofSentence(context, i);
    of_advice.push_back(sentence ? nlohmann::json(plainText(sentence->parts)) : nlohmann::json());
  }
  return {{"sentences", sentencesJson(replaySection(context).sentences)}, {"of_advice", of_advice}};
}

}  // namespace tidegauge::report
