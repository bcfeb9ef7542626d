#include "export/report_json.h"

#include <algorithm>

#include "base/format.h"
#include "export/holder_names.h"
#include "export/oom_json.h"
#include "export/story.h"
#include "export/story_json.h"

namespace tidegauge::exporting {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceSummary;
using analysis::Step;
using nlohmann::json;

constexpr size_t kMostHolders = 50;

json cleanList(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& text : texts) list.push_back(clean(text));
  return list;
}

json orNull(std::optional<uint64_t> number) { return number ? json(*number) : json(); }

json peakJson(const analysis::Peak& peak) { return {{"bytes", peak.bytes}, {"step", peak.step}}; }

json timeJson(const analysis::DeviceAnalysis& device, Step step) {
  int64_t time = device.time.timeOf(step);
  return time == model::kNoTime ? json() : json(time);
}

json oomJson(const AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
             const analysis::OomReport& oom, const analysis::VerdictOptions& options) {
  json phases = json::array();
  for (uint32_t row : oom.phases) {
    phases.push_back(clean(analysed.trace.strings.text(analysed.trace.annotations.name[row])));
  }
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
          {"holes", oom.free ? json(oom.free->count) : json()},
          {"largest_hole_bytes", oom.free ? json(oom.free->largest_bytes) : json()},
          {"given_back_bytes", oom.given_back_bytes},
          {"given_back_segments", oom.given_back_segments},
          {"stack_id", oom.stack.valid() ? json(oom.stack.value) : json()},
          {"label", clean(analysed.labels.label(oom.stack))},
          {"phases", phases},
          {"verdict",
           oom.free ? verdictJson(analysed, analysis::verdictOf(analysed, device, oom, options))
                    : json()}};
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

json settingsJson(const AnalysedTrace& analysed) {
  json rows = json::array();
  for (const auto& [key, value] : analysed.trace.settings.items) {
    rows.push_back({clean(key), clean(value)});
  }
  return rows;
}

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

json peaksJson(const analysis::PeakReport& peak) {
  return {{"requested", peakJson(peak.requested)},
          {"active", peakJson(peak.active)},
          {"allocated", peakJson(peak.allocated)},
          {"reserved", peakJson(peak.reserved)},
          {"uncertain_bytes", peak.uncertain_bytes}};
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

json deviceJson(const AnalysedTrace& analysed, const DeviceSummary& summary) {
  const model::Device& device = summary.device->device;
  json ooms = json::array();
  analysis::VerdictOptions options{.seen_ceiling_bytes = summary.ceiling_bytes.value_or(0)};
  for (const analysis::OomReport& oom : summary.ooms) {
    ooms.push_back(oomJson(analysed, *summary.device, oom, options));
  }
  json by_provenance;
  for (size_t p = 0; p < 4; ++p) {
    by_provenance[std::string(model::name(static_cast<model::Provenance>(p)))] =
        summary.allocations_by_provenance[p];
  }
  using model::Action;
  return {
      {"device", device.ordinal},
      {"label", analysis::deviceLabel(device)},
      {"events", device.steps()},
      {"allocations", device.allocation_end - device.allocation_begin},
      {"allocations_by_provenance", by_provenance},
      {"segments", device.segment_end - device.segment_begin},
      {"device_allocations",
       countActions(analysed, device, {Action::kSegmentAlloc, Action::kSegmentMap})},
      {"device_frees",
       countActions(analysed, device, {Action::kSegmentFree, Action::kSegmentUnmap})},
      {"initial", totalsJson(summary.initial)},
      {"final", totalsJson(summary.final)},
      {"peak", peaksJson(summary.peak)},
      {"holders_at_peak", holdersJson(analysed, summary.peak.holders, "peak")},
      {"holders_at_oom", summary.at_oom ? holdersJson(analysed, *summary.at_oom, "oom") : json()},
      {"ooms", ooms},
      {"advice", adviceJson(tellStory(analysed, summary).advice)},
      {"phases", phasesJson(analysed, summary)},
      {"phases_total", summary.phases_total},
      {"identities", identitiesJson(summary)}};
}

json brimJson(const DeviceSummary& summary) {
  if (summary.ooms.empty()) return nullptr;
  const analysis::OomReport& oom = summary.ooms[summary.worst_oom];
  if (!oom.known()) return nullptr;  // a picture of what was missing needs both
  return {{"requested_bytes", *oom.requested_bytes},
          {"device_free_bytes", *oom.device_free_bytes},
          {"reserved_bytes", oom.totals.reserved_bytes},
          {"active_bytes", oom.totals.active_bytes},
          {"free_bytes", oom.free->bytes},
          {"holes", oom.free->count},
          {"largest_hole_bytes", oom.free->largest_bytes},
          {"over_bytes", oom.overBytes()},
          {"ceiling_bytes", *oom.ceilingBytes()}};
}

json rangeJson(const AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
               const analysis::StepRange& range) {
  RangeSummary summary = summariseRange(analysed, device, range);
  json ooms = json::array();
  analysis::VerdictOptions options{
      .seen_ceiling_bytes = analysis::largestCeiling(analysis::oomsOf(analysed, device, 0))};
  for (const analysis::OomReport& oom : summary.ooms) {
    ooms.push_back(oomJson(analysed, device, oom, options));
  }
  return {{"device", device.device.ordinal},
          {"label", analysis::deviceLabel(device.device)},
          {"range",
           {{"first_step", range.first},
            {"last_step", range.last},
            {"first_time_us", timeJson(device, range.first)},
            {"last_time_us", timeJson(device, range.last)},
            {"notes", cleanList(range.notes)}}},
          {"initial", totalsJson(summary.before)},
          {"final", totalsJson(summary.after)},
          {"peak", peaksJson(summary.peak)},
          {"holders_at_peak", holdersJson(analysed, summary.peak.holders, "peak")},
          {"ooms", ooms}};
}

}  // namespace

json holdersJson(const AnalysedTrace& analysed, const analysis::Holders& holders, const char* at) {
  std::vector<HolderName> names = holderNames(analysed, holders.groups, kMostHolders);
  json rows = json::array();
  for (size_t i = 0; i < names.size(); ++i) {
    const analysis::StackGroup& group = holders.groups[i];
    rows.push_back(
        {{"stack_id", group.stack.valid() ? json(group.stack.value) : json()},
         {"label", clean(names[i].label)},
         {"caller", clean(names[i].caller)},
         {"slot", analysed.labels.colourSlot(group.stack)},
         {"bytes", group.block_bytes},
         {"requested_bytes", group.requested_bytes},
         {"blocks", group.blocks},
         {"older_bytes", group.older_bytes},
         {"first_allocation_id", group.first_row},
         {"share", holders.block_bytes == 0 ? 0.0
                                            : static_cast<double>(group.block_bytes) /
                                                  static_cast<double>(holders.block_bytes)}});
  }
  return {{"at", at},
          {"step", holders.step},
          {"total_bytes", holders.block_bytes},
          {"blocks", holders.blocks},
          {"stacks", holders.groups.size()},
          {"rows", rows}};
}

json totalsJson(const analysis::Totals& totals) {
  return {{"requested_bytes", totals.requested_bytes},
          {"active_bytes", totals.active_bytes},
          {"allocated_bytes", totals.allocated_bytes},
          {"reserved_bytes", totals.reserved_bytes}};
}

json reportJson(const AnalysedTrace& analysed) {
  std::vector<Chosen> all;
  for (const auto& device : analysed.devices) all.push_back({device.get(), std::nullopt});
  return reportJson(analysed, all);
}

json reportJson(const AnalysedTrace& analysed, const std::vector<Chosen>& chosen_devices) {
  json devices = json::array();
  for (const Chosen& chosen : chosen_devices) {
    devices.push_back(chosen.range ? rangeJson(analysed, *chosen.device, *chosen.range)
                                   : deviceJson(analysed, summarise(analysed, *chosen.device)));
  }
  json settings = json::object();
  for (const auto& [key, value] : analysed.trace.settings.items)
    settings[clean(key)] = clean(value);
  return {{"file", fileJson(analysed)},
          {"devices", devices},
          {"issues", issuesJson(analysed)},
          {"settings", settings}};
}

json sessionFileJson(const AnalysedTrace& analysed, size_t file_id, const std::string& name) {
  json file = fileJson(analysed);
  file["id"] = file_id;
  // People know the file by its last name; the rest of the path is in the tooltip.
  file["path"] = clean(analysed.trace.source.name);
  file["name"] = clean(name);
  json devices = json::array();
  for (const auto& device : analysed.devices) {
    const analysis::TotalsIndex& totals = device->totals;
    json ooms = json::array();
    std::optional<uint64_t> ceiling;
    for (const analysis::OomReport& oom : analysis::oomsOf(analysed, *device, 0)) {
      if (ooms.size() < 1000) {
        ooms.push_back({{"step", oom.step},
                        {"time_us", timeJson(*device, oom.step)},
                        {"requested_bytes", orNull(oom.requested_bytes)},
                        {"device_free_bytes", orNull(oom.device_free_bytes)},
                        {"reserved_bytes", oom.totals.reserved_bytes}});
      }
      ceiling = std::max(ceiling, oom.ceilingBytes());  // absent = least
    }
    const model::Device& d = device->device;
    bool timed = device->time.present();
    devices.push_back({{"ordinal", d.ordinal},
                       {"kind", d.kind == model::DeviceKind::kGpu ? "gpu" : "pinned_host"},
                       {"label", analysis::deviceLabel(d)},
                       {"events", d.steps()},
                       {"allocations", d.allocation_end - d.allocation_begin},
                       {"segments", d.segment_end - d.segment_begin},
                       {"first_time_us", timed ? json(device->time.firstUs()) : json()},
                       {"last_time_us", timed ? json(device->time.lastUs()) : json()},
                       {"peak",
                        {{"requested", peakJson(totals.peakRequested())},
                         {"active", peakJson(totals.peakActive())},
                         {"reserved", peakJson(totals.peakReserved())}}},
                       {"initial", totalsJson(totals.initial())},
                       {"final", totalsJson(totals.last())},
                       {"ceiling_bytes", orNull(ceiling)},
                       {"ooms", ooms}});
  }
  file["devices"] = devices;
  return file;
}

json overviewJson(const AnalysedTrace& analysed, int32_t device_ordinal) {
  const analysis::DeviceAnalysis* device = analysed.findDevice(device_ordinal);
  if (device == nullptr) return nullptr;
  DeviceSummary summary = summarise(analysed, *device);
  Story told = tellStory(analysed, summary);
  constexpr const char* kSeverities[] = {"high", "medium", "low"};
  json findings = json::array();
  for (const Finding& finding : told.findings) {
    findings.push_back({{"severity", kSeverities[static_cast<size_t>(finding.severity)]},
                        {"parts", partsJson(finding.parts)},
                        {"bytes", finding.bytes ? json(*finding.bytes) : json()},
                        {"unit", finding.unit ? json(base::name(*finding.unit)) : json()},
                        {"link", linkJson(finding.link)}});
  }
  constexpr const char* kKinds[] = {"oom", "peak", "state"};
  const char* at = summary.at_oom ? "oom" : device->totals.steps() == 0 ? "end" : "peak";
  return {{"eyebrow",
           {{"kind", kKinds[static_cast<size_t>(told.kind)]},
            {"text", told.eyebrow},
            {"step", told.step ? json(*told.step) : json()},
            {"time_us", told.step ? timeJson(*device, *told.step) : json()}}},
          {"headline", told.headline},
          {"story", sentencesJson(told.sentences)},
          {"advice", adviceJson(told.advice)},
          {"findings", findings},
          {"brim", brimJson(summary)},
          {"holders",
           holdersJson(analysed, summary.at_oom ? *summary.at_oom : summary.peak.holders, at)},
          {"phases", phasesJson(analysed, summary)},
          {"phases_total", summary.phases_total},
          {"identities", identitiesJson(summary)},
          {"issues", issuesJson(analysed)},
          {"settings", settingsJson(analysed)}};
}

}  // namespace tidegauge::exporting
