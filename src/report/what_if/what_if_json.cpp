#include <algorithm>

#include "report/oom/oom_json.h"
#include "report/what_if/what_if_text.h"

namespace tidegauge::report {
namespace {

using analysis::Replayed;
using nlohmann::json;

json entryJson(const model::Trace& trace, model::Action action, uint64_t address, uint64_t bytes) {
  json it = {{"action", trace.actionName(action)}};
  if (action != model::Action::kOom && action != model::Action::kSnapshot) it["address"] = address;
  it["bytes"] = bytes == model::kUnknownBytes ? json() : json(bytes);
  return it;
}

template <class Value>
json orNull(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}
json stepOrNull(const std::optional<analysis::Step>& step) { return step ? json(*step) : json(); }

json replayedJson(const Replayed& it) {
  auto peakOf = [&](replay::Quantity quantity) { return it.stats[quantity].all.peak; };
  json failures = json::array();
  for (const replay::Failure& failure : it.failures)
    failures.push_back({{"step", failure.step},
                        {"request_bytes", failure.request_bytes},
                        {"was_recorded", failure.was_recorded}});
  json range;
  if (it.peak_reserved_range)
    range = {{"least", it.peak_reserved_range->least_bytes},
             {"most", it.peak_reserved_range->most_bytes}};
  json ooms_range;
  if (it.peak_reserved_range)
    ooms_range = {{"least", it.peak_reserved_range->least_ooms},
                  {"most", it.peak_reserved_range->most_ooms}};
  json replayed = {
      {"settings", it.conf},
      {"peak_reserved_bytes", peakOf(replay::Quantity::kReservedBytes)},
      {"peak_reserved_range_bytes", range},
      {"peak_active_bytes", peakOf(replay::Quantity::kActiveBytes)},
      {"unused_at_peak_bytes", it.unused_at_peak_bytes},
      {"peak_split_bytes", peakOf(replay::Quantity::kInactiveSplitBytes)},
      {"peak_segments", peakOf(replay::Quantity::kSegment)},
      {"retries", it.stats.retries},
      {"ooms", it.stats.ooms},
      {"ooms_range", ooms_range},
      {"driver_allocs", it.stats.driver_allocs},
      {"driver_frees", it.stats.driver_frees},
      {"driver_s", it.driver_s ? json(*it.driver_s) : json()},
      {"min_capacity_bytes", it.min_capacity_bytes ? json(*it.min_capacity_bytes) : json()},
      {"failures", std::move(failures)},
      {"rescued", it.rescued},
      {"first_rescued_step", stepOrNull(it.first_rescued)},
      {"forecast_from_step", stepOrNull(it.forecast_from)},
      {"stopped_at_step", stepOrNull(it.stopped_at)}};
  if (!it.reserved_line.empty()) {
    replayed["reserved_line"] = it.reserved_line;
    replayed["active_line"] = it.active_line;
  }
  return replayed;
}

}  // namespace

json fitJson(const std::optional<analysis::FitFactor>& fit) {
  if (!fit) return {};
  return {{"proven", fit->is_proven},
          {"step", fit->step},
          {"request_bytes", fit->request_bytes},
          {"request_scales", fit->request_scales},
          {"factor", fit->factor ? json(*fit->factor) : json()},
          {"batch", fit->factor ? json(fit->batch) : json()},
          {"batch_of", analysis::FitFactor::kBatchOf},
          {"scaling_bytes", fit->scaling_bytes},
          {"constant_bytes", fit->constant_bytes},
          {"constant",
           {{"older_bytes", fit->older_bytes},
            {"parameter_bytes", fit->parameter_bytes},
            {"optimizer_bytes", fit->optimizer_bytes},
            {"communication_bytes", fit->communication_bytes},
            {"gradient_bytes", fit->gradient_bytes},
            {"never_freed_bytes", fit->never_freed_bytes}}},
          {"peak_reserved_bytes", fit->factor ? json(fit->peak_reserved_bytes) : json()},
          {"replays", fit->replays}};
}

json verifyJson(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                const replay::Verification& verified) {
  json first;
  if (verified.first_divergence) {
    const replay::Divergence& found = *verified.first_divergence;
    const model::Events& events = analysed.trace.events;
    size_t row = device.device.event_begin + found.step;
    bool is_end = found.step >= device.device.steps();  // it was cut there
    first = {{"step", found.step},
             {"cause", replay::words(found.cause)},
             {"recorded", is_end ? json()
                                 : entryJson(analysed.trace, events.action[row],
                                             events.address[row], events.size_bytes[row])},
             {"replayed", found.wrote_nothing
                              ? json()
                              : entryJson(analysed.trace, found.replayed.action,
                                          found.replayed.address, found.replayed.bytes)}};
  }
  return {
      {"events_checked", verified.events_checked},
      {"events_exact", verified.events_exact},
      {"checked_until_step", verified.checked_until},
      {"divergences", verified.divergences},
      {"first_divergence", first},
      {"policy",
       {{"tie_break", verified.settings.tie == replay::TieBreak::kSegment ? "segment" : "address"},
        {"tie_break_shows", verified.tie_is_known},
        {"private_pools_expandable", verified.private_pools_are_known
                                         ? json(verified.settings.private_pools_expandable)
                                         : json()}}},
      {"began_empty", verified.began_empty},
      {"blocks_left_out", verified.left_out_at_start},
      {"final_segments", verified.final_segments},
      {"final_segments_differing", verified.final_differences}};
}

json whatIfJson(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                const analysis::WhatIf& report, bool verify_only) {
  json it = {{"device", device.device.ordinal},
             {"verify", verifyJson(analysed, device, report.verified)}};
  if (verify_only) return it;
  it["capacity_bytes"] = report.capacity_bytes ? json(*report.capacity_bytes) : json();
  it["device_bytes"] = report.device_bytes ? json(*report.device_bytes) : json();
  it["capacity_source"] =
      report.capacity_source == analysis::CapacitySource::kGiven         ? json("given")
      : report.capacity_source == analysis::CapacitySource::kOutOfMemory ? json("out_of_memory")
      : report.capacity_source == analysis::CapacitySource::kRefused     ? json("refused")
      : report.capacity_source == analysis::CapacitySource::kRecorded    ? json("recorded")
                                                                         : json();
  it["fraction"] = report.fraction ? json(*report.fraction) : json();
  it["proven"] = report.isProven();
  it["limit_bytes"] = report.limit_bytes ? json(*report.limit_bytes) : json();
  it["limit_most_bytes"] = report.limit_most_bytes ? json(*report.limit_most_bytes) : json();
  it["helps_from_limit"] = json();
  if (report.helps_from)
    it["helps_from_limit"] = {{"settings", report.helps_from->conf},
                              {"limit_bytes", report.helps_from->limit_bytes},
                              {"ooms", report.helps_from->ooms}};
  it["recorded"] = {{"peak_reserved_bytes", report.recorded_peak_bytes},
                    {"ooms", report.recorded_ooms},
                    {"own_is_as_recorded", report.ownIsAsRecorded()},
                    {"capacity_bytes", orNull(report.recorded_capacity_bytes)},
                    {"fraction", orNull(report.recorded_fraction)}};
  it["may_be_unmapped"] = report.may_be_unmapped;
  it["unmapped_bytes"] = report.unmapped_bytes;
  it["causes"] = adviceJson(analysed, report.causes);
  for (json& cause : it["causes"]) cause.erase("text");  // it is among the sentences
  it["fit"] = fitJson(report.fit);
  it["not_simulated"] = report.verified.settings.not_simulated;
  it["own"] = replayedJson(report.own);
  it["edits"] = json::array();
  for (const analysis::ReplayedEdit& edit : report.edits) {
    json replayed = replayedJson(edit.replayed);
    replayed["edit"] = analysis::words(edit.edit);
    replayed["changed_requests"] = edit.requests;
    replayed["changed_bytes"] = edit.bytes;
    it["edits"].push_back(std::move(replayed));
  }
  it["candidates"] = json::array();
  for (const Replayed& candidate : report.candidates)
    it["candidates"].push_back(replayedJson(candidate));
  it["best"] = report.best_helps ? json(report.candidates.front().conf) : json();
  it["sentences"] = whatIfSentences(analysed, report);
  return it;
}

}  // namespace tidegauge::report
