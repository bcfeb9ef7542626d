// The page's overview of one device.
#include "analysis/judgement.h"
#include "report/oom/oom_json.h"
#include "report/page/page_json.h"
#include "report/story/file_json.h"
#include "report/story/finding_words.h"
#include "report/story/report_parts.h"
#include "report/story/story.h"
#include "report/words/holders_json.h"
#include "report/words/incomplete_words.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceSummary;
using nlohmann::json;

json settingsJson(const AnalysedTrace& analysed) {
  json rows = json::array();
  for (const auto& [key, value] : analysed.trace.settings.items) {
    rows.push_back({clean(key), clean(value)});
  }
  return rows;
}

json failedRequestJson(const AnalysedTrace& analysed, const DeviceSummary& summary,
                       const analysis::Judgement& judgement) {
  if (summary.ooms.empty()) return nullptr;
  const analysis::OomReport& oom = summary.ooms[summary.explained_oom];
  if (!oom.known()) return nullptr;  // a picture of the missing bytes needs both
  return {{"requested_bytes", *oom.requested_bytes},
          {"device_free_bytes", *oom.device_free_bytes},
          {"reserved_bytes", oom.totals.reserved_bytes},
          {"active_bytes", oom.totals.active_bytes},
          {"free_bytes", oom.free->bytes},
          {"held_bytes", judgement.verdict->held_bytes},
          {"holes", oom.free->holes},
          {"largest_hole_bytes", oom.free->largest_bytes},
          {"over_bytes", oom.overBytes()},
          {"ceiling_bytes", *oom.ceilingBytes()},
          {"ceiling_at_most", judgement.verdict->unmappedBytes(analysed.trace) > 0}};
}

}  // namespace

json overviewJson(const AnalysedTrace& analysed, int32_t device_ordinal) {
  const analysis::DeviceAnalysis* device = analysed.findDevice(device_ordinal);
  if (device == nullptr) return nullptr;
  DeviceSummary summary = summarise(analysed, *device);
  analysis::Judgement judgement = analysis::judge(analysed, summary);
  Story story = makeStory(analysed, summary, judgement);
  std::vector<Sentence> sentences = story.all();
  if (!summary.growth.stacks.empty()) {
    sentences.push_back(growthSections({analysed, summary}).front().sentences.front());
  }
  json findings = json::array();
  for (const analysis::Finding& finding : story.findings) {
    FindingWords words = findingWords(analysed, summary, finding);
    findings.push_back({{"kind", analysis::name(finding.kind)},
                        {"severity", analysis::name(finding.severity)},
                        {"parts", partsJson(words.parts)},
                        {"bytes", words.bytes ? json(*words.bytes) : json()},
                        {"unit", words.unit ? json(base::name(*words.unit)) : json()},
                        {"link", linkJson(words.link)}});
  }
  constexpr const char* kKinds[] = {"oom", "peak", "state"};
  const char* at = summary.at_oom ? "oom" : summary.only_state ? "end" : "peak";
  return {{"eyebrow",
           {{"kind", kKinds[static_cast<size_t>(story.kind)]},
            {"text", story.eyebrow},
            {"step", story.step ? json(*story.step) : json()},
            {"at_start", story.at_start},
            {"time_us", story.step ? timeJson(*device, *story.step) : json()}}},
          {"headline", story.headline},
          {"story", sentencesJson(sentences)},
          {"advice", adviceJson(analysed, judgement.advice)},
          {"findings", findings},
          {"failed_request", failedRequestJson(analysed, summary, judgement)},
          {"holders", holdersJson(analysed, device_ordinal,
                                  summary.at_oom ? *summary.at_oom : summary.peak.holders, at)},
          {"phases", phasesJson(analysed, summary)},
          {"phases_total", summary.phases_total},
          {"identities", identitiesJson(summary)},
          {"issues", issuesJson(analysed)},
          {"incomplete", incompleteRows(incompleteOf(analysed))},
          {"settings", settingsJson(analysed)}};
}

}  // namespace tidegauge::report
