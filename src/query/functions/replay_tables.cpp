// proven, replays, and both for a given device size: do the allocator's rules explain the
// recording, and what would other settings have done?
#include "analysis/judgement.h"
#include "analysis/what_if/replay_proof.h"
#include "query/functions/answer_tables.h"

namespace tidegauge::query {
namespace {

using analysis::DeviceAnalysis;
using Kind = ColumnKind;

std::vector<replay::Verification> provenOf(const AnalysedTrace& trace, const DeviceAnalysis& device,
                                           std::optional<uint64_t> capacity_bytes) {
  analysis::WhatIfWish wish;
  wish.verify_only = true;
  wish.capacity_bytes = capacity_bytes;
  wish.is_own_capacity = true;
  std::vector<replay::Verification> rows;
  if (!analysis::isReplayable(device)) return rows;
  if (auto what_if = analysis::whatIf(trace, device, wish); what_if.ok())
    rows.push_back(std::move(what_if.value().verified));
  return rows;
}

std::vector<AnswerColumn<replay::Verification>> provenColumns() {
  using V = replay::Verification;
  return {
      {Kind::kInteger, "events_checked", "events of this device that the replay checks",
       [](const V& v) { return keyOfBytes(v.events_checked); }},
      {Kind::kInteger, "events_exact",
       "events that the replay reproduces: action, address, bytes and order",
       [](const V& v) { return keyOfBytes(v.events_exact); }},
      {Kind::kStep, "first_difference_step",
       "step of the first event that the replay does not reproduce; NULL: none",
       [](const V& v) { return v.first_divergence ? keyOfStep(v.first_divergence->step) : kNull; }},
      {Kind::kText, "cause", "likely cause of this difference; NULL: none",
       [](const V& v) { return v.first_divergence ? 0 : kNull; },
       [](const V& v) { return std::string(replay::words(v.first_divergence->cause)); }},
      {Kind::kInteger, "began_empty", "1: the program held no memory before the recording",
       [](const V& v) { return int64_t{v.began_empty}; }},
      {Kind::kInteger, "final_segments", "number of segments in the final state of the file",
       [](const V& v) { return keyOfBytes(v.final_segments); }},
      {Kind::kInteger, "final_segments_differing",
       "number of these segments that differ from the replayed ones",
       [](const V& v) { return keyOfBytes(v.final_differences); }}};
}

struct ReplayOf {
  size_t place;  // 0: the recording's own settings
  std::optional<uint64_t> available_bytes;
  analysis::Replayed replayed;
};

Answers<ReplayOf> replaysOf(const AnalysedTrace& trace, const DeviceAnalysis& device,
                            std::optional<uint64_t> capacity_bytes, const Deadline& deadline) {
  StopAt stop(deadline);
  auto proof = analysis::judge(trace, analysis::summarise(trace, device), capacity_bytes,
                               {analysis::Replays::kAll, stop.token()})
                   .proof;
  if (stop.token().stop_requested()) return stoppedAnswer();
  std::vector<ReplayOf> rows;
  if (!proof) return rows;
  auto available_bytes = proof->what_if.availableBytes();
  rows.push_back({0, available_bytes, std::move(proof->what_if.own)});
  for (analysis::Replayed& candidate : proof->what_if.candidates)
    rows.push_back({rows.size(), available_bytes, std::move(candidate)});
  return rows;
}

std::vector<AnswerColumn<ReplayOf>> replayColumns() {
  using R = ReplayOf;
  using Q = replay::Quantity;
  auto peakOf = [](Q quantity) {
    return [quantity](const R& r) {
      return static_cast<int64_t>(r.replayed.stats[quantity].all.peak);
    };
  };
  auto range = [](auto figure) {
    return [figure](const R& r) {
      const auto& outcomes = r.replayed.peak_reserved_range;
      return outcomes ? keyOfBytes((*outcomes).*figure) : kNull;
    };
  };
  return {
      {Kind::kInteger, "place", "0: the recording's own settings; 1: the best of the others",
       [](const R& r) { return keyOfBytes(r.place); }},
      {Kind::kText,
       "settings",
       "complete value of PYTORCH_CUDA_ALLOC_CONF; empty: PyTorch's defaults",
       {},
       [](const R& r) { return r.replayed.conf; }},
      {Kind::kInteger, "ooms", "number of requests that fail",
       [](const R& r) { return r.replayed.stats.ooms; }},
      {Kind::kInteger, "least_ooms",
       "lowest value over the tested address placements of the driver; NULL: the placement does "
       "not matter",
       range(&analysis::PlacementRange::least_ooms)},
      {Kind::kInteger, "most_ooms", "highest such value",
       range(&analysis::PlacementRange::most_ooms)},
      {Kind::kBytes, "peak_reserved_bytes", "", peakOf(Q::kReservedBytes)},
      {Kind::kBytes, "least_peak_reserved_bytes",
       "lowest value over the tested address placements of the driver; NULL: the placement does "
       "not matter",
       range(&analysis::PlacementRange::least_bytes)},
      {Kind::kBytes, "most_peak_reserved_bytes", "highest such value",
       range(&analysis::PlacementRange::most_bytes)},
      {Kind::kBytes, "peak_active_bytes", "", peakOf(Q::kActiveBytes)},
      {Kind::kBytes, "unused_at_peak_bytes",
       "reserved bytes outside blocks at peak active memory (the lowest value)",
       [](const R& r) { return keyOfBytes(r.replayed.unused_at_peak_bytes); }},
      {Kind::kInteger, "retries", "number of cache flushes to serve a request",
       [](const R& r) { return r.replayed.stats.retries; }},
      {Kind::kInteger, "driver_allocs", "number of driver calls that allocate or map memory",
       [](const R& r) { return r.replayed.stats.driver_allocs; }},
      {Kind::kInteger, "driver_frees", "number of driver calls that free or unmap memory",
       [](const R& r) { return r.replayed.stats.driver_frees; }},
      {Kind::kInteger, "rescued",
       "number of requests that failed in the recording and succeed here",
       [](const R& r) { return keyOfBytes(r.replayed.rescued); }},
      {Kind::kStep, "forecast_from_step", "step from which the result is a forecast; NULL: none",
       [](const R& r) {
         return r.replayed.forecast_from ? keyOfStep(*r.replayed.forecast_from) : kNull;
       }},
      {Kind::kBytes, "reserved_at_start_bytes", "reserved bytes from before the recording",
       [](const R& r) { return keyOfBytes(r.replayed.reserved_at_start_bytes); }},
      {Kind::kBytes, "available_bytes", "memory available to the process; NULL: unknown",
       [](const R& r) { return r.available_bytes ? keyOfBytes(*r.available_bytes) : kNull; }}};
}

}  // namespace

std::vector<TableFunction> replayFunctions(const AnalysedTrace& trace) {
  return {
      deviceAnswer<replay::Verification>(
          trace, "proven", "table: one row: how many events of the recording a replay reproduces",
          provenColumns(),
          [](const AnalysedTrace& t, const DeviceAnalysis& d) {
            return provenOf(t, d, std::nullopt);
          }),
      deviceAnswer<ReplayOf>(
          trace, "replays",
          "table: the results of other allocator settings, best first (docs/explain/replay.md)",
          replayColumns(),
          [](const AnalysedTrace& t, const DeviceAnalysis& d, const Deadline& deadline) {
            return replaysOf(t, d, std::nullopt, deadline);
          }),
      capacityAnswer<ReplayOf>(trace, "replays_at",
                               "table: as replays, on a device of the given size", replayColumns(),
                               replaysOf)};
}

}  // namespace tidegauge::query
