// fit_factor: how much smaller a batch would fit. empty_cache_effect, release_pool_effect and
// release_pool_cache_effect: what one change of the program would have done.
#include <algorithm>

#include "analysis/what_if/advised_change.h"
#include "analysis/what_if/fit_factor.h"
#include "analysis/what_if/proven_program.h"
#include "query/functions/answer_tables.h"

namespace tidegauge::query {
namespace {

using analysis::AdvisedChange;
using analysis::ChangeEffect;
using analysis::DeviceAnalysis;
using Kind = ColumnKind;

std::vector<analysis::FitFactor> fitOf(const AnalysedTrace& trace, const DeviceAnalysis& device,
                                       std::optional<uint64_t> capacity_bytes) {
  std::vector<analysis::FitFactor> rows;
  if (!analysis::isReplayable(device)) return rows;
  analysis::WhatIfWish wish;
  wish.capacity_bytes = capacity_bytes;
  wish.is_own_capacity = true;
  if (auto fit = analysis::fitFactorOf(analysis::ProvenProgram(trace, device, wish)))
    rows.push_back(*fit);
  return rows;
}

std::vector<AnswerColumn<analysis::FitFactor>> fitColumns() {
  using F = analysis::FitFactor;
  auto bytes = [](std::string name, std::string doc, uint64_t F::*figure) {
    return AnswerColumn<F>{Kind::kBytes, std::move(name), std::move(doc),
                           [figure](const F& fit) { return keyOfBytes(fit.*figure); }};
  };
  return {
      {Kind::kInteger, "proven", "1: the replay explains the recording; 0: no factor is given",
       [](const F& fit) { return int64_t{fit.is_proven}; }},
      {Kind::kReal, "factor",
       "largest share of today's activations with which no request fails; NULL: none",
       [](const F& fit) { return fit.factor ? keyOfReal(*fit.factor) : kNull; }},
      {Kind::kInteger, "batch", "the same as a batch, of batch_of; 0: not even 1; NULL: no factor",
       [](const F& fit) { return fit.factor ? int64_t{fit.batch} : kNull; }},
      {Kind::kInteger, "batch_of", "the batch of today in this comparison",
       [](const F&) { return int64_t{F::kBatchOf}; }},
      {Kind::kReal, "least_factor", "smallest share that is tried",
       [](const F&) { return keyOfReal(F::kLeastFactor); }},
      {Kind::kStep, "step", "step of the first request that fails today",
       [](const F& fit) { return keyOfStep(fit.step); }},
      bytes("request_bytes", "size of that request", &F::request_bytes),
      {Kind::kInteger, "request_scales", "1: that request scales with the batch",
       [](const F& fit) { return int64_t{fit.request_scales}; }},
      bytes("scaling_bytes", "live blocks there that scale with the batch", &F::scaling_bytes),
      bytes("constant_bytes", "live blocks there that stay constant", &F::constant_bytes),
      bytes("parameter_bytes", "part of constant_bytes: parameters", &F::parameter_bytes),
      bytes("optimizer_bytes", "part of constant_bytes: the optimizer", &F::optimizer_bytes),
      bytes("gradient_bytes", "part of constant_bytes: blocks as large as a parameter",
            &F::gradient_bytes),
      bytes("communication_bytes", "part of constant_bytes: communication",
            &F::communication_bytes),
      bytes("older_bytes", "part of constant_bytes: older than the recording", &F::older_bytes),
      bytes("never_freed_bytes", "part of constant_bytes: never freed", &F::never_freed_bytes),
      {Kind::kBytes, "peak_reserved_bytes", "peak reserved memory with that factor; NULL: none",
       [](const F& fit) { return fit.factor ? keyOfBytes(fit.peak_reserved_bytes) : kNull; }},
      {Kind::kBytes, "available_bytes", "memory available to the process; NULL: unknown",
       [](const F& fit) { return keyOf(fit.available_bytes); }},
      {Kind::kInteger, "replays", "number of replays that the search took",
       [](const F& fit) { return int64_t{fit.replays}; }}};
}

std::vector<AnswerColumn<ChangeEffect>> effectColumns() {
  using E = ChangeEffect;
  auto integer = [](Kind kind, std::string name, std::string doc, uint64_t E::*figure) {
    return AnswerColumn<E>{kind, std::move(name), std::move(doc),
                           [figure](const E& effect) { return keyOfBytes(effect.*figure); }};
  };
  return {
      {Kind::kInteger, "proven", "1: the replay explains the recording; 0: the rest proves nothing",
       [](const E& effect) { return int64_t{effect.is_proven}; }},
      {Kind::kInteger, "helps",
       "1: at most half as many requests fail; or none does, and noticeably less is reserved",
       [](const E& effect) { return int64_t{effect.helps}; }},
      integer(Kind::kInteger, "ooms_before", "number of requests that fail without the change",
              &E::ooms_before),
      integer(Kind::kInteger, "ooms_after", "… and with it", &E::ooms_after),
      integer(Kind::kBytes, "peak_reserved_bytes_before", "without the change",
              &E::peak_reserved_bytes_before),
      integer(Kind::kBytes, "peak_reserved_bytes_after", "with it", &E::peak_reserved_bytes_after),
      integer(Kind::kInteger, "freed_blocks", "blocks that are freed with the pool",
              &E::freed_blocks),
      integer(Kind::kBytes, "freed_bytes", "requested bytes of these blocks", &E::freed_bytes),
      {Kind::kStep, "forecast_from_step", "step from which the result is a forecast; NULL: none",
       [](const E& effect) {
         return effect.forecast_from ? keyOfStep(*effect.forecast_from) : kNull;
       }}};
}

// `arguments`: device, step, the pool if `has_pool`, capacity_bytes.
TableFunction effectFunction(const AnalysedTrace& trace, AdvisedChange::What what, std::string name,
                             std::string doc, bool has_pool) {
  std::vector<std::string> arguments{"device", "step"};
  if (has_pool) arguments.emplace_back("pool");
  arguments.emplace_back("capacity_bytes");
  return placeAnswer<ChangeEffect>(
      trace, std::move(name), std::move(doc), std::move(arguments), effectColumns(),
      [&trace, what, has_pool](const DeviceAnalysis& device, const std::vector<int64_t>& values)
          -> base::Result<std::vector<ChangeEffect>> {
        std::vector<ChangeEffect> rows;
        if (!analysis::isReplayable(device)) return rows;
        int64_t capacity_bytes = values.back(), pool = has_pool ? values[2] : 0;
        constexpr int64_t kMostPools = UINT16_MAX;
        if (capacity_bytes < 0 || values[1] < 0 || pool < 0 || pool >= kMostPools)
          return base::Error{base::ErrorKind::kUsage,
                             "a step, a pool or a capacity is out of range",
                             {},
                             "They must be 0 or more."};
        analysis::WhatIfWish wish;
        if (capacity_bytes > 0) wish.capacity_bytes = static_cast<uint64_t>(capacity_bytes);
        wish.is_own_capacity = true;
        AdvisedChange change;
        change.what = what;
        change.step = static_cast<model::Step>(std::min<int64_t>(values[1], model::kNoStep));
        change.pool = model::PoolId(static_cast<uint16_t>(pool));
        TG_ASSIGN_OR_RETURN(
            ChangeEffect effect,
            analysis::effectOf(analysis::ProvenProgram(trace, device, wish), change));
        rows.push_back(std::move(effect));
        return rows;
      });
}

}  // namespace

std::vector<TableFunction> changeFunctions(const AnalysedTrace& trace) {
  using What = AdvisedChange::What;
  return {deviceAnswer<analysis::FitFactor>(
              trace, "fit_factor",
              "table: one row if a request fails: how much smaller a batch would fit "
              "(docs/explain/replay.md)",
              fitColumns(),
              [](const AnalysedTrace& t, const DeviceAnalysis& d) {
                return fitOf(t, d, std::nullopt);
              }),
          capacityAnswer<analysis::FitFactor>(trace, "fit_factor_at",
                                              "table: as fit_factor, on a device of the given size",
                                              fitColumns(), fitOf),
          effectFunction(trace, What::kEmptyCache, "empty_cache_effect",
                         "table: one row: the effect of torch.cuda.empty_cache() before a step; "
                         "capacity_bytes 0: as recorded",
                         false),
          effectFunction(trace, What::kReleasePool, "release_pool_effect",
                         "table: one row: the effect of freeing what is live in a private pool and "
                         "releasing the pool, before a step; capacity_bytes 0: as recorded",
                         true),
          effectFunction(trace, What::kReleasePoolCache, "release_pool_cache_effect",
                         "table: as release_pool_effect, but its blocks stay live", true)};
}

}  // namespace tidegauge::query
