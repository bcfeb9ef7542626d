// What a replay shows of the advice on the page.
#include <algorithm>

#include "analysis/judgement.h"
#include "report/oom/advice_words.h"
#include "report/oom/oom_json.h"
#include "report/oom/oom_story.h"
#include "report/page/page_json.h"
#include "report/story/report_parts.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {

nlohmann::json proofJson(const analysis::AnalysedTrace& analysed,
                         const analysis::DeviceAnalysis& device,
                         std::optional<analysis::Step> oom_step) {
  analysis::DeviceSummary summary = analysis::summarise(analysed, device);
  size_t oom = summary.explained_oom;
  if (oom_step) {
    auto found = std::ranges::find(summary.ooms, *oom_step, &analysis::OomReport::step);
    if (found == summary.ooms.end()) return nullptr;
    oom = static_cast<size_t>(found - summary.ooms.begin());
  }
  constexpr auto kShort = analysis::Replays::kShort;
  analysis::Judgement judgement = summary.ooms.empty()
                                      ? analysis::judge(analysed, summary, {}, kShort)
                                      : analysis::judgeOom(analysed, summary, oom, {}, kShort);
  if (!judgement.proof) return nullptr;
  SectionContext context{analysed, summary};
  context.proof = &*judgement.proof;
  nlohmann::json of_advice = nlohmann::json::array();
  std::string table = adviceTable(device.device.ordinal, std::nullopt);
  for (size_t i = 0; i < judgement.advice.size(); ++i) {
    auto sentence = effectSentence(judgement.advice[i], i + 1, table);
    of_advice.push_back(sentence ? nlohmann::json(plainText(sentence->parts)) : nlohmann::json());
  }
  return {{"sentences", sentencesJson(replaySection(context).sentences)},
          {"advice", adviceJson(analysed, judgement.advice)},
          {"of_advice", of_advice}};
}

}  // namespace tidegauge::report
