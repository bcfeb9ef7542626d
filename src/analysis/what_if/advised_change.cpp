#include "analysis/what_if/advised_change.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/layout/allocator_rules.h"
#include "analysis/what_if/freed_early.h"
#include "analysis/what_if/what_if_runs.h"
#include "base/format.h"

namespace tidegauge::analysis {
namespace {

using replay::Op;
using replay::Request;
using Change = AdvisedChange::What;

base::Error noSuchPlace(std::string what, std::string hint) {
  return {base::ErrorKind::kUsage, std::move(what), std::nullopt, std::move(hint)};
}

// What another program would ask for: the same, with something before the requests of a step on.
replay::Program changedProgram(const ProvenProgram& program, const AdvisedChange& change,
                               ChangeEffect& effect) {
  const model::Allocations& all = program.analysed().trace.allocations;
  replay::OwnerIndex owner = replay::Tape::ownerOf(change.pool);
  FreedEarly freed(program.analysed(), program.device(), program.program(),
                   {[=](const Request& request) { return request.owner == owner; },
                    [&](uint64_t row) { return all.pool[row] == change.pool; }});
  replay::Program changed;
  changed.names = program.program().names;
  auto insert = [&] {
    if (change.what == Change::kReleasePool) freed.freeAll(change.step, changed.requests);
    Request request;
    request.step = change.step;
    request.op = change.what == Change::kEmptyCache ? Op::kEmptyCache : Op::kReleasePool;
    if (request.op == Op::kReleasePool) request.owner = owner;
    changed.requests.push_back(request);
  };
  bool is_done = false;
  for (const Request& request : program.program().requests) {
    if (!is_done && request.step >= change.step) {
      insert();
      is_done = true;
    }
    freed.take(request, changed.requests);
  }
  if (!is_done) insert();
  effect.freed_blocks = freed.blocks();
  effect.freed_bytes = freed.bytes();
  return changed;
}

std::optional<base::Error> refusalOf(const ProvenProgram& program, const AdvisedChange& change) {
  if (change.what == Change::kSetting || change.what == Change::kLimit) return std::nullopt;
  Step steps = program.device().device.steps();
  if (change.step >= steps)
    return noSuchPlace(fmt::format("there is no step {}", base::withCommas(change.step)),
                       fmt::format("The device has {}.", base::counted(steps, "step")));
  bool is_of_pool = change.what != Change::kEmptyCache;
  bool is_known = change.pool.valid() && change.pool.value != 0 &&
                  change.pool.value < program.analysed().trace.pools.size();
  if (is_of_pool && !is_known)
    return noSuchPlace("there is no such private pool", "pools lists them.");
  return std::nullopt;
}

}  // namespace

base::Result<ChangeEffect> effectOf(const ProvenProgram& program, const AdvisedChange& change) {
  if (auto refusal = refusalOf(program, change)) return std::move(*refusal);
  const WhatIf& report = program.report();
  ChangeEffect effect;
  effect.conf = replay::confOf(program.settings(), report.fraction);
  Replayed after;
  if (change.what == Change::kSetting) {
    effect.conf = changedConf(effect.conf, change.conf);
    TG_ASSIGN_OR_RETURN(replay::Settings settings,
                        settingsFor(program.settings(), effect.conf, report.fraction));
    after = Runs(program.tape(), program.program(), report, 0).one(effect.conf, settings);
  } else if (change.what == Change::kLimit) {
    replay::Settings settings = program.settings();
    settings.limit_bytes = change.limit_bytes;
    after = Runs(program.tape(), program.program(), report, 0).one(effect.conf, settings);
  } else {
    replay::Program changed = changedProgram(program, change, effect);
    after = Runs(program.tape(), changed, report, 0).one(effect.conf, program.settings());
  }
  const Replayed& own = program.own();
  effect.is_proven = program.isProven() && !after.stopped_at;
  effect.helps = effect.is_proven && helps(after, own, report);
  effect.ooms_before = own.leastOoms();
  effect.ooms_after = after.mostOoms();
  effect.least_ooms_after = after.leastOoms();
  effect.first_failing_step = after.firstFailingStep();
  effect.failing_steps = after.failingSteps();
  effect.peak_reserved_bytes_before = own.leastReservedBytes();
  effect.peak_reserved_bytes_after = after.mostReservedBytes();
  effect.peak_is_at_least = after.rescued > 0;
  effect.forecast_from = after.forecast_from;
  return effect;
}

}  // namespace tidegauge::analysis
