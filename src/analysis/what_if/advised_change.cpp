#include "analysis/what_if/advised_change.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/layout/allocator_rules.h"
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
class ChangedProgram {
 public:
  ChangedProgram(const ProvenProgram& program, const AdvisedChange& change, ChangeEffect& effect)
      : program_(program), change_(change), effect_(effect) {
    changed_.names = program.program().names;
    bool is_done = false;
    for (const Request& request : program.program().requests) {
      if (!is_done && request.step >= change.step) {
        insert();
        is_done = true;
      }
      bool is_earlier = request.op == Op::kFree && is_freed_.contains(request.name);
      if (!is_earlier) changed_.requests.push_back(request);
      note(request);
    }
    if (!is_done) insert();
  }
  replay::Program take() { return std::move(changed_); }

 private:
  void note(const Request& request) {
    bool is_there = request.owner == change_.pool.value && !request.failed;
    if (request.op == Op::kMalloc && is_there) live_[request.name] = request.bytes;
    if (request.op == Op::kFree) live_.erase(request.name);
  }
  void insert() {
    Request request;
    request.step = change_.step;
    if (change_.what == Change::kEmptyCache) {
      request.op = Op::kEmptyCache;
      changed_.requests.push_back(request);
      return;
    }
    if (change_.what == Change::kReleasePool) freeAll();
    request.op = Op::kReleasePool;
    request.owner = replay::Tape::ownerOf(change_.pool);
    changed_.requests.push_back(request);
  }
  void freeAll() {
    addOlder();
    for (const auto& [name, bytes] : live_) {
      Request request;
      request.op = Op::kFree;
      request.step = change_.step;
      request.name = name;
      changed_.requests.push_back(request);
      is_freed_.insert(name);
      ++effect_.freed_blocks;
      effect_.freed_bytes += bytes;
    }
  }
  // Blocks in the pool that are older than the recording.
  void addOlder() {
    const model::Allocations& all = program_.analysed().trace.allocations;
    const model::Device& device = program_.device().device;
    for (size_t row = device.allocation_begin; row < device.allocation_end; ++row)
      if (model::isOlder(all.provenance[row]) && all.pool[row] == change_.pool &&
          all.last_step[row] > change_.step)
        live_[static_cast<uint32_t>(row - device.allocation_begin)] = all.requested_bytes[row];
  }

  const ProvenProgram& program_;
  const AdvisedChange& change_;
  ChangeEffect& effect_;
  replay::Program changed_;
  std::map<uint32_t, uint64_t> live_;  // in the pool: name → bytes
  std::set<uint32_t> is_freed_;
};

std::optional<base::Error> refusalOf(const ProvenProgram& program, const AdvisedChange& change) {
  if (change.what == Change::kSetting) return std::nullopt;
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

bool ChangeEffect::helps() const {
  if (!is_proven) return false;
  if (ooms_after != ooms_before) return ooms_after <= ooms_before / 2;
  return ooms_before == 0 &&
         isNoticeablyLess(peak_reserved_bytes_after, peak_reserved_bytes_before);
}

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
  } else {
    replay::Program changed = ChangedProgram(program, change, effect).take();
    after = Runs(program.tape(), changed, report, 0).one(effect.conf, program.settings());
  }
  const Replayed& own = program.own();
  effect.is_proven = program.isProven() && !after.stopped_at;
  effect.ooms_before = own.leastOoms();
  effect.ooms_after = after.mostOoms();
  effect.peak_reserved_bytes_before = own.leastReservedBytes();
  effect.peak_reserved_bytes_after = after.mostReservedBytes();
  effect.forecast_from = after.forecast_from;
  return effect;
}

}  // namespace tidegauge::analysis
