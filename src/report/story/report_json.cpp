#include "report/story/report_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "report/oom/oom_json.h"
#include "report/recording/recording_report.h"
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
using analysis::Step;
using nlohmann::json;

json cleanList(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& text : texts) list.push_back(clean(text));
  return list;
}

// The step is −1 before the first event, as in SQL.
json peakJson(const analysis::Peak& peak) {
  return {{"bytes", peak.bytes}, {"step", peak.place()}};
}

// The requests of pinned host memory are unknown.
json requestedPeakJson(const model::Device& device, const analysis::Peak& peak) {
  if (!device.knows_requests) return {{"bytes", json()}, {"step", json()}};
  return peakJson(peak);
}

// SQL for the totals of a device, or of a part of it.
class TotalsSql {
 public:
  TotalsSql(int device, std::string range_totals)
      : device_(device), range_(std::move(range_totals)) {}

  std::string totals(std::string_view which) const {  // "initial", "final"
    std::string columns;
    for (std::string_view what : {"requested", "active", "allocated", "reserved"}) {
      columns += columns.empty() ? "" : ", ";
      columns += range_.empty()
                     ? fmt::format("{1}_{0}_bytes AS {0}_bytes", what, which)
                     : fmt::format("max({1}_bytes) FILTER (WHERE what = '{0}') AS {0}_bytes", what,
                                   which == "initial" ? "start" : "end");
    }
    return fmt::format("SELECT {} FROM {}", columns, from());
  }
  std::string peak(std::string_view what) const {
    if (range_.empty()) {
      return fmt::format("SELECT peak_{0}_bytes AS bytes, peak_{0}_step AS step FROM {1}", what,
                         from());
    }
    return fmt::format("SELECT peak_bytes AS bytes, peak_step AS step FROM {} WHERE what = '{}'",
                       from(), what);
  }

 private:
  std::string from() const {
    return range_.empty() ? fmt::format("devices WHERE device = {}", device_) : range_;
  }
  int device_;
  std::string range_;
};

json withSql(json object, std::string sql) {
  object["sql"] = std::move(sql);
  return object;
}

json oomJson(const AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
             const analysis::OomReport& oom, const analysis::VerdictOptions& options) {
  json phases = json::array();
  for (uint32_t row : oom.phases) {
    phases.push_back(clean(analysed.trace.strings.text(analysed.trace.annotations.name[row])));
  }
  json first_us = oom.first_refusal_ns ? json(*oom.first_refusal_ns / 1000) : json();
  return {{"step", oom.step},
          {"time_us", timeJson(device, oom.step)},
          {"requested_bytes", orNull(oom.requested_bytes)},
          {"device_free_bytes", orNull(oom.device_free_bytes)},
          {"over_bytes", oom.known() ? json(oom.overBytes()) : json()},
          {"ceiling_bytes", orNull(oom.ceilingBytes())},
          {"active_bytes", oom.totals.active_bytes},
          {"allocated_bytes", oom.totals.allocated_bytes},
          {"reserved_bytes", oom.totals.reserved_bytes},
          {"free_in_segments_bytes", oom.free ? json(oom.free->bytes) : json()},
          {"holes", oom.free ? json(oom.free->holes) : json()},
          {"largest_hole_bytes", oom.free ? json(oom.free->largest_bytes) : json()},
          {"given_back_bytes", oom.given_back_bytes},
          {"given_back_segments", oom.given_back_segments},
          {"refusals", orNull(oom.refusals)},
          {"first_refused_time_us", first_us},
          {"series", oom.series},
          {"stack_id", oom.stack.valid() ? json(oom.stack.value) : json()},
          {"label", clean(analysed.labels.label(oom.stack))},
          {"caller", clean(analysed.labels.caller(oom.stack))},
          {"phases", phases},
          {"sql",
           fmt::format("SELECT * FROM ooms({}) WHERE step = {}", device.device.ordinal, oom.step)},
          {"verdict",
           oom.free ? verdictJson(analysed, analysis::verdictOf(analysed, device, oom, options))
                    : json()}};
}

// What PYTORCH_CUDA_ALLOC_CONF asks for, and what the file says is in effect.
json settingsAskedJson(const model::AllocatorSettings& settings) {
  json rows = json::array();
  for (const model::AskedSetting& part : settings.asked) {
    rows.push_back({{"key", clean(part.key)},
                    {"asked", clean(part.asked)},
                    {"in_effect", part.in_effect.empty() ? json() : json(clean(part.in_effect))},
                    {"differs", part.differs}});
  }
  return rows;
}

json peaksJson(const model::Device& device, const analysis::PeakReport& peak,
               const TotalsSql& sql) {
  return {{"requested", withSql(requestedPeakJson(device, peak.requested), sql.peak("requested"))},
          {"active", withSql(peakJson(peak.active), sql.peak("active"))},
          {"allocated", withSql(peakJson(peak.allocated), sql.peak("allocated"))},
          {"reserved", withSql(peakJson(peak.reserved), sql.peak("reserved"))},
          {"uncertain_bytes", peak.uncertain_bytes},
          {"reserved_uncertain_bytes", peak.reserved_uncertain_bytes},
          {"is_at_least", peak.is_at_least}};
}

// What the recording lacks, and how its totals relate to the truth.
json lacksJson(const DeviceSummary& summary) {
  const model::Device& device = summary.device->device;
  json actions = json::array();
  for (size_t i = 0; i < static_cast<size_t>(model::Action::kFirstUnknown); ++i) {
    auto action = static_cast<model::Action>(i);
    if (device.missing.has(action)) actions.push_back(model::name(action));
  }
  const std::optional<analysis::PeakBounds>& active = summary.peak.active_bounds;
  return {{"actions", std::move(actions)},
          {"gap_steps", device.gaps},
          {"requested_sizes", !device.knows_requests},
          {"peak_active_bound", model::name(summary.peak.bounds.active)},
          {"peak_allocated_bound", model::name(summary.peak.bounds.allocated)},
          {"peak_reserved_bound", model::name(summary.peak.bounds.reserved)},
          {"peak_active_at_least_bytes", active ? json(active->at_least_bytes) : json()},
          {"peak_active_at_most_bytes", active && active->at_most_bytes != model::kUnknownBytes
                                            ? json(active->at_most_bytes)
                                            : json()},
          {"sql", fmt::format("SELECT peak_active_bound, peak_allocated_bound, "
                              "peak_reserved_bound, peak_active_at_least_bytes, "
                              "peak_active_at_most_bytes FROM devices WHERE device = {}",
                              device.ordinal)}};
}

uint64_t countActions(const AnalysedTrace& analysed, const model::Device& device,
                      std::initializer_list<model::Action> actions) {
  uint64_t count = 0;
  for (uint64_t event = device.event_begin; event < device.event_end; ++event) {
    count += std::find(actions.begin(), actions.end(), analysed.trace.events.action[event]) !=
             actions.end();
  }
  return count;
}

std::string provenanceSql(int device) {
  std::string columns;
  for (size_t p = 0; p < 4; ++p) {
    std::string_view provenance = model::name(static_cast<model::Provenance>(p));
    columns += fmt::format("{}count(*) FILTER (WHERE provenance = '{}') AS {}", p > 0 ? ", " : "",
                           provenance, provenance);
  }
  return fmt::format("SELECT {} FROM allocations WHERE device = {}", columns, device);
}

json findingsJson(const AnalysedTrace& analysed, const DeviceSummary& summary,
                  const std::vector<analysis::Finding>& findings) {
  std::vector<Sentence> sentences;
  sentences.reserve(findings.size());
  for (const analysis::Finding& finding : findings)
    sentences.push_back(findingSentence(analysed, summary, finding));
  json rows = evidenceJson(sentences);
  for (size_t i = 0; i < findings.size(); ++i) {
    rows[i]["kind"] = analysis::name(findings[i].kind);
    rows[i]["severity"] = analysis::name(findings[i].severity);
    json& figures = rows[i]["figures"] = json::array();
    for (const analysis::Evidence& figure : findings[i].figures)
      figures.push_back(
          {{"name", figure.name}, {"value", figure.value}, {"unit", analysis::name(figure.unit)}});
  }
  return rows;
}

// The sentences of the report, with the findings.
json storyJson(const AnalysedTrace& analysed, const DeviceSummary& summary, const Story& story) {
  Sentence headline{{{story.headline}}, {}, story.headline_sql};
  return {{"headline", evidenceJson({headline})[0]},
          {"sentences", evidenceJson(story.all())},
          {"findings", findingsJson(analysed, summary, story.findings)}};
}

json deviceJson(const AnalysedTrace& analysed, const DeviceSummary& summary,
                std::optional<uint64_t> capacity_bytes, const analysis::ReplayWish& replays) {
  const model::Device& device = summary.device->device;
  TotalsSql sql(device.ordinal, "");
  json ooms = json::array();
  analysis::VerdictOptions options =
      analysis::verdictOptions(analysed, *summary.device, summary.ooms, capacity_bytes);
  for (const analysis::OomReport& oom : summary.ooms) {
    ooms.push_back(oomJson(analysed, *summary.device, oom, options));
  }
  json by_provenance;
  for (size_t p = 0; p < 4; ++p) {
    by_provenance[std::string(model::name(static_cast<model::Provenance>(p)))] =
        summary.allocations_by_provenance[p];
  }
  by_provenance["sql"] = provenanceSql(device.ordinal);
  using model::Action;
  analysis::Judgement judgement = analysis::judge(analysed, summary, capacity_bytes, replays);
  Story story = makeStory(analysed, summary, judgement);
  const analysis::ReplayProof* proof = judgement.proof ? &*judgement.proof : nullptr;
  json all = {
      {"device", device.ordinal},
      {"label", analysis::deviceLabel(device)},
      {"at_least", model::isAtLeast(analysed.trace, device.ordinal)},
      {"only_state", summary.only_state},
      {"lacks", lacksJson(summary)},
      {"events", device.steps()},
      {"allocations", device.allocation_end - device.allocation_begin},
      {"allocations_by_provenance", by_provenance},
      {"segments", device.segment_end - device.segment_begin},
      {"device_allocations",
       countActions(analysed, device, {Action::kSegmentAlloc, Action::kSegmentMap})},
      {"device_frees",
       countActions(analysed, device, {Action::kSegmentFree, Action::kSegmentUnmap})},
      {"initial", withSql(totalsJson(device, summary.initial), sql.totals("initial"))},
      {"final", withSql(totalsJson(device, summary.final), sql.totals("final"))},
      {"peak", peaksJson(device, summary.peak, sql)},
      {"holders_at_peak", holdersJson(analysed, device.ordinal, summary.peak.holders,
                                      summary.only_state ? "end" : "peak")},
      {"holders_at_oom",
       summary.at_oom ? holdersJson(analysed, device.ordinal, *summary.at_oom, "oom") : json()},
      {"ooms", ooms},
      {"advice", adviceJson(analysed, judgement.advice)},
      {"phases", phasesJson(analysed, summary)},
      {"phases_sql",
       fmt::format("SELECT * FROM phases({}) LIMIT {}", device.ordinal, analysis::kMaxPhases)},
      {"phases_total", summary.phases_total},
      {"identities", identitiesJson(summary)},
      {"identities_sql", fmt::format("SELECT * FROM identities({})", device.ordinal)},
      {"story", storyJson(analysed, summary, story)},
      {"sql",
       fmt::format(
           "SELECT device, name AS label, at_least, only_state, events, allocations, segments, "
           "(SELECT count(*) FROM events WHERE device = {0} AND action IN "
           "('segment_alloc', 'segment_map')) AS device_allocations, "
           "(SELECT count(*) FROM events WHERE device = {0} AND action IN "
           "('segment_free', 'segment_unmap')) AS device_frees, "
           "(SELECT count(*) FROM phases({0})) AS phases_total "
           "FROM devices WHERE device = {0}",
           device.ordinal)}};
  all["peak"]["sql"] = fmt::format(
      "SELECT peak_uncertain_bytes AS uncertain_bytes, peak_reserved_uncertain_bytes AS "
      "reserved_uncertain_bytes, peak_is_at_least AS is_at_least FROM devices WHERE device = {}",
      device.ordinal);
  for (Section& section : sectionsOf({analysed, summary, kMaxHolders, capacity_bytes, proof})) {
    all[section.key] = std::move(section.json);
  }
  return all;
}

// Adds to each incomplete figure the reason why.
void markIncomplete(const model::Incomplete& incomplete, json& device) {
  auto mark = [&](json& section, model::FigureSet figures) {
    if (section.is_object() && incomplete.touches(figures))
      section["incomplete"] = incompleteList(incomplete, figures);
  };
  for (auto& [key, section] : device.items())
    if (key != "range") mark(section, key == "initial" || key == "final" ? kOfMemory : kOfHolders);
  for (json& section : device["peak"]) mark(section, kOfMemory);
  for (json& oom : device["ooms"]) mark(oom, kOfMemory);
  mark(device, model::FigureSet::all());
}

json rangeJson(const AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
               const analysis::StepRange& range, std::optional<uint64_t> capacity_bytes) {
  RangeSummary summary = summariseRange(analysed, device, range);
  TotalsSql sql(device.device.ordinal, fmt::format("range_totals({}, {}, {})",
                                                   device.device.ordinal, range.first, range.last));
  json ooms = json::array();
  analysis::VerdictOptions options = analysis::verdictOptions(
      analysed, device, analysis::oomsOf(analysed, device, 0), capacity_bytes);
  for (const analysis::OomReport& oom : summary.ooms) {
    ooms.push_back(oomJson(analysed, device, oom, options));
  }
  return {{"device", device.device.ordinal},
          {"label", analysis::deviceLabel(device.device)},
          {"at_least", model::isAtLeast(analysed.trace, device.device.ordinal)},
          {"range",
           {{"first_step", range.first},
            {"last_step", range.last},
            {"first_time_us", timeJson(device, range.first)},
            {"last_time_us", timeJson(device, range.last)},
            {"notes", cleanList(range.notes)}}},
          {"initial", withSql(totalsJson(device.device, summary.before), sql.totals("initial"))},
          {"final", withSql(totalsJson(device.device, summary.after), sql.totals("final"))},
          {"peak", peaksJson(device.device, summary.peak, sql)},
          {"holders_at_peak",
           holdersJson(analysed, device.device.ordinal, summary.peak.holders, "peak")},
          {"ooms", ooms}};
}

}  // namespace

json reportJson(const AnalysedTrace& analysed) {
  std::vector<Chosen> all;
  for (const auto& device : analysed.devices) all.push_back({device.get(), std::nullopt});
  return reportJson(analysed, all);
}

json reportJson(const AnalysedTrace& analysed, const std::vector<Chosen>& chosen_devices,
                std::optional<uint64_t> capacity_bytes, const analysis::ReplayWish& replays) {
  json devices = json::array();
  model::Incomplete incomplete = incompleteOf(analysed);
  for (const Chosen& chosen : chosen_devices) {
    devices.push_back(chosen.range
                          ? rangeJson(analysed, *chosen.device, *chosen.range, capacity_bytes)
                          : deviceJson(analysed, summarise(analysed, *chosen.device, chosen.oom),
                                       capacity_bytes, replays));
    markIncomplete(incomplete, devices.back());
  }
  json settings = json::object();
  for (const auto& [key, value] : analysed.trace.settings.items)
    settings[clean(key)] = clean(value);
  return {{"file", withSql(fileJson(analysed), "SELECT * FROM file")},
          {"recording", recordingJson(analysed)},
          {"incomplete", incompleteRows(incomplete)},
          {"incomplete_sql", analysis::kIncompleteSql},
          {"devices", devices},
          {"issues", issuesJson(analysed)},
          {"issues_sql", "SELECT * FROM issues"},
          {"settings", settings},
          {"settings_asked", settingsAskedJson(analysed.trace.settings)}};
}

}  // namespace tidegauge::report
