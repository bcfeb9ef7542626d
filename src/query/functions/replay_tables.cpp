// proven, replays, and both for a given device size: do the allocator's rules explain the
// recording, and what would other settings have done?
#include "analysis/judgement.h"
#include "analysis/what_if/replay_proof.h"
#include "query/functions/answer_tables.h"

namespace tidegauge::query {
namespace {

using analysis::DeviceAnalysis;
using Kind = ColumnKind;

std::optional<analysis::ReplayProof> proofFor(const AnalysedTrace& trace,
                                              const DeviceAnalysis& device,
                                              std::optional<uint64_t> capacity_bytes) {
  auto advice = analysis::judge(trace, analysis::summarise(trace, device), capacity_bytes).advice;
  return analysis::proofOf(trace, device, advice, capacity_bytes);
}

std::vector<replay::Verification> provenOf(const AnalysedTrace& trace, const DeviceAnalysis& device,
                                           std::optional<uint64_t> capacity_bytes) {
  analysis::WhatIfWish wish;
  wish.verify_only = true;
  wish.capacity_bytes = capacity_bytes;
  std::vector<replay::Verification> rows;
  if (!analysis::isReplayable(device)) return rows;
  if (auto what_if = analysis::whatIf(trace, device, wish); what_if.ok())
    rows.push_back(std::move(what_if.value().verified));
  return rows;
}

std::vector<AnswerColumn<replay::Verification>> provenColumns() {
  using V = replay::Verification;
  return {
      {Kind::kInteger, "events_checked", "of this device, that the rules say something of",
       [](const V& v) { return keyOfBytes(v.events_checked); }},
      {Kind::kInteger, "events_exact", "… that are as the rules say: action, address, bytes, order",
       [](const V& v) { return keyOfBytes(v.events_exact); }},
      {Kind::kStep, "first_difference_step", "NULL: there is none",
       [](const V& v) { return v.first_divergence ? keyOfStep(v.first_divergence->step) : kNull; }},
      {Kind::kText, "cause", "the likely cause of that one; NULL: there is none",
       [](const V& v) { return v.first_divergence ? 0 : kNull; },
       [](const V& v) { return std::string(replay::words(v.first_divergence->cause)); }},
      {Kind::kInteger, "began_empty", "1: nothing is older than the recording",
       [](const V& v) { return int64_t{v.began_empty}; }},
      {Kind::kInteger, "final_segments", "in the file's final state",
       [](const V& v) { return keyOfBytes(v.final_segments); }},
      {Kind::kInteger, "final_segments_differing", "of these, from the replayed ones",
       [](const V& v) { return keyOfBytes(v.final_differences); }}};
}

struct ReplayOf {
  size_t place;  // 0: the recording's own settings
  std::optional<uint64_t> available_bytes;
  analysis::Replayed replayed;
};

std::vector<ReplayOf> replaysOf(const AnalysedTrace& trace, const DeviceAnalysis& device,
                                std::optional<uint64_t> capacity_bytes) {
  std::vector<ReplayOf> rows;
  auto proof = proofFor(trace, device, capacity_bytes);
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
       "the whole of PYTORCH_CUDA_ALLOC_CONF; empty: PyTorch's defaults",
       {},
       [](const R& r) { return r.replayed.conf; }},
      {Kind::kInteger, "ooms", "requests that fail",
       [](const R& r) { return r.replayed.stats.ooms; }},
      {Kind::kInteger, "least_ooms", "over the driver's placements; NULL: they do not matter",
       range(&analysis::PlacementRange::least_ooms)},
      {Kind::kInteger, "most_ooms", "…", range(&analysis::PlacementRange::most_ooms)},
      {Kind::kBytes, "peak_reserved_bytes", "", peakOf(Q::kReservedBytes)},
      {Kind::kBytes, "least_peak_reserved_bytes",
       "over the driver's placements; NULL: they do not matter",
       range(&analysis::PlacementRange::least_bytes)},
      {Kind::kBytes, "most_peak_reserved_bytes", "…", range(&analysis::PlacementRange::most_bytes)},
      {Kind::kBytes, "peak_active_bytes", "", peakOf(Q::kActiveBytes)},
      {Kind::kBytes, "unused_at_peak_bytes", "in no block while most is in blocks: the least",
       [](const R& r) { return keyOfBytes(r.replayed.unused_at_peak_bytes); }},
      {Kind::kInteger, "retries", "flushes of the cache for a request",
       [](const R& r) { return r.replayed.stats.retries; }},
      {Kind::kInteger, "driver_allocs", "calls of the driver",
       [](const R& r) { return r.replayed.stats.driver_allocs; }},
      {Kind::kInteger, "driver_frees", "…",
       [](const R& r) { return r.replayed.stats.driver_frees; }},
      {Kind::kInteger, "rescued", "requests that failed when it was recorded, and fit here",
       [](const R& r) { return keyOfBytes(r.replayed.rescued); }},
      {Kind::kStep, "forecast_from_step",
       "from there on the program would have seen something else; NULL: nowhere",
       [](const R& r) {
         return r.replayed.forecast_from ? keyOfStep(*r.replayed.forecast_from) : kNull;
       }},
      {Kind::kBytes, "reserved_at_start_bytes", "older than the recording: as it was",
       [](const R& r) { return keyOfBytes(r.replayed.reserved_at_start_bytes); }},
      {Kind::kBytes, "available_bytes", "what the process could have; NULL: not known",
       [](const R& r) { return r.available_bytes ? keyOfBytes(*r.available_bytes) : kNull; }}};
}

}  // namespace

std::vector<TableFunction> replayFunctions(const AnalysedTrace& trace) {
  return {
      deviceAnswer<replay::Verification>(
          trace, "proven", "table: one row: how much of the recording a replay explains",
          provenColumns(),
          [](const AnalysedTrace& t, const DeviceAnalysis& d) {
            return provenOf(t, d, std::nullopt);
          }),
      deviceAnswer<ReplayOf>(
          trace, "replays",
          "table: what other settings would have done, best first; see docs/explain/replay.md",
          replayColumns(),
          [](const AnalysedTrace& t, const DeviceAnalysis& d) {
            return replaysOf(t, d, std::nullopt);
          }),
      capacityAnswer<ReplayOf>(trace, "replays_at", "table: as replays, on a device of that size",
                               replayColumns(), replaysOf)};
}

}  // namespace tidegauge::query
