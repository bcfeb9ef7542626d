#include "report/story/file_json.h"

#include "report/story/story.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {

using analysis::AnalysedTrace;
using analysis::DeviceSummary;
using analysis::Step;
using nlohmann::json;

json fileJson(const AnalysedTrace& analysed) {
  const model::Trace& trace = analysed.trace;
  return {{"name", clean(trace.source.name)},
          {"format", clean(trace.source.format)},
          {"container", clean(trace.source.container)},
          {"file_bytes", trace.source.file_bytes},
          {"data_bytes", trace.source.data_bytes},
          {"events", trace.events.size()},
          {"allocations", trace.allocations.size()},
          {"stacks", trace.stacks.size()},
          {"frames", trace.frames.size()},
          {"annotations", trace.annotations.size()},
          {"issues", trace.issues.all().size()},
          {"conf", clean(trace.settings.conf)}};
}

json phasesJson(const AnalysedTrace& analysed, const DeviceSummary& summary) {
  json rows = json::array();
  for (const analysis::PhaseSummary& phase : summary.phases) {
    rows.push_back({{"name", clean(analysed.trace.strings.text(
                                 analysed.trace.annotations.name[phase.annotation]))},
                    {"depth", phase.depth},
                    {"begin_step", phase.begin_step},
                    {"end_step", phase.end_step},
                    {"peak_active_bytes", phase.peak_active_bytes},
                    {"peak_step", phase.peak_step},
                    {"grew_bytes", phase.grew_bytes}});
  }
  return rows;
}

json identitiesJson(const DeviceSummary& summary) {
  json rows = json::array();
  for (const analysis::Identity& identity : summary.identities) {
    rows.push_back({{"name", identity.name},
                    {"holds", identity.holds},
                    {"text", identity.text},
                    {"difference_bytes", identity.difference_bytes}});
  }
  return rows;
}

json issuesJson(const AnalysedTrace& analysed) {
  auto known = [](uint64_t value) { return value == model::Issue::kNone ? json() : json(value); };
  json rows = json::array();
  for (const model::Issue& issue : analysed.trace.issues.all()) {
    std::optional<uint64_t> step = firstStep(analysed, issue);
    rows.push_back(
        {{"kind", model::name(issue.kind)},
         {"count", issue.count},
         {"device", issue.device == model::Issue::kNoDevice ? json() : json(issue.device)},
         {"first_step", step ? json(*step) : json()},
         {"first_offset", known(issue.first_offset)},
         {"bytes", issue.bytes},
         {"detail", clean(issue.detail)},
         {"meaning", model::meaning(issue.kind)}});
  }
  return rows;
}

json timeJson(const analysis::DeviceAnalysis& device, Step step) {
  int64_t time = device.time.timeOf(step);
  return time == model::kNoTime ? json() : json(time);
}

json orNull(std::optional<uint64_t> number) { return number ? json(*number) : json(); }

}  // namespace tidegauge::report
