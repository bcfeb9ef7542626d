#include "analysis/what_if/causes.h"

#include <algorithm>
#include <tuple>

#include "analysis/oom/oom.h"
#include "analysis/what_if/advised_change.h"
#include "model/lives/missing_actions.h"

namespace tidegauge::analysis {
namespace {

using Remedy = AdvisedChange::What;

AdviceEffect adviceEffectOf(const ChangeEffect& it) {
  return {.helps = it.helps,
          .ooms_before = it.ooms_before,
          .ooms_after = it.ooms_after,
          .least_ooms_after = it.least_ooms_after,
          .first_failing_step = it.first_failing_step,
          .failing_steps = it.failing_steps,
          .peak_reserved_before_bytes = it.peak_reserved_bytes_before,
          .peak_reserved_after_bytes = it.peak_reserved_bytes_after,
          .peak_is_at_least = it.peak_is_at_least,
          .freed_live_bytes = it.freed_bytes,
          .forecast_from = it.forecast_from};
}

std::optional<ChangeEffect> provenEffect(const ProvenProgram& program,
                                         const AdvisedChange& change) {
  auto effect = effectOf(program, change);
  if (!effect.ok() || !effect.value().is_proven) return std::nullopt;
  return std::move(effect).value();
}

// Releases the pool: first with its live blocks kept, and if that does not help, without them. One
// of several pools that does not help alone is not disproved: they may help together.
void addPoolEffect(const ProvenProgram& program, Advice& a) {
  AdvisedChange change{.what = Remedy::kReleasePoolCache, .step = *a.step, .pool = a.pool};
  auto effect = provenEffect(program, change);
  if (effect && !effect->helps && a.value("pool_live_bytes") > 0) {
    change.what = Remedy::kReleasePool;
    effect = provenEffect(program, change);
  }
  bool is_one_of_several = a.value("pool_free_bytes") < a.value("held_bytes");
  if (!effect || (!effect->helps && is_one_of_several)) return;
  a.effect = adviceEffectOf(*effect);
}

// The flush comes before the step after the one that is named. At the end there is no such step,
// and nothing fails there.
void addFlushEffect(const ProvenProgram& program, Advice& a) {
  if (*a.step + 1 >= program.device().device.steps()) return;
  if (auto effect = provenEffect(program, {.what = Remedy::kEmptyCache, .step = *a.step + 1}))
    a.effect = adviceEffectOf(*effect);
}

// A larger fraction if the settings contain one, else a higher limit.
void addLimitEffect(const ProvenProgram& program, Advice& a) {
  AdvisedChange change{.what = Remedy::kSetting, .conf = a.setting};
  if (a.setting.empty()) {
    if (!program.report().limit_bytes || !a.has("needed_bytes") || a.has("fraction_percent"))
      return;
    change = {.what = Remedy::kLimit, .limit_bytes = a.value("needed_bytes")};
  }
  auto effect = provenEffect(program, change);
  if (!effect) return;
  a.effect = adviceEffectOf(*effect);
  if (!a.setting.empty()) a.effect->conf = effect->conf;
}

}  // namespace

bool isOutsideSettings(AdviceKind kind) {
  switch (kind) {
    case AdviceKind::kEmptyCache:
    case AdviceKind::kPool:
    case AdviceKind::kStream:
    case AdviceKind::kMemoryFraction:
    case AdviceKind::kTryAgain:
    case AdviceKind::kOtherProcesses:
    case AdviceKind::kReleasePool:
    case AdviceKind::kFlushBeforeCapture:
    case AdviceKind::kCheckRequest:
      return true;
    case AdviceKind::kNoSettingHelps:
    case AdviceKind::kHoldLess:
    case AdviceKind::kSmallerRequest:
    case AdviceKind::kExpandable:
    case AdviceKind::kSplitLimit:
    case AdviceKind::kLargerSplitLimit:
    case AdviceKind::kNoSplitLimit:
    case AdviceKind::kNoRoundup:
    case AdviceKind::kGcNeedsFraction:
    case AdviceKind::kNotInEffect:
    case AdviceKind::kReplayedSetting:
      return false;
  }
  return false;
}

void addCauseEffects(const ProvenProgram& program, std::vector<Advice>& advice) {
  for (Advice& a : advice) {
    if (a.kind == AdviceKind::kReleasePool && a.step) addPoolEffect(program, a);
    if (a.kind == AdviceKind::kEmptyCache && a.step) addFlushEffect(program, a);
    if (a.kind == AdviceKind::kMemoryFraction) addLimitEffect(program, a);
  }
}

void orderByEffect(std::vector<Advice>& advice) {
  std::ranges::stable_sort(advice, {}, [](const Advice& a) {
    bool helps = a.effect && a.effect->helps;
    // A pool without live memory comes first, then the one that keeps more free.
    return std::tuple(helps             ? 0
                      : a.isDisproved() ? 2
                                        : 1,
                      helps ? a.effect->ooms_after : 0, helps ? a.effect->freed_live_bytes : 0,
                      ~a.value("pool_free_bytes"));
  });
}

std::vector<Advice> causesIn(const std::vector<Advice>& advice) {
  std::vector<Advice> causes;
  for (const Advice& a : advice)
    if (isOutsideSettings(a.kind)) causes.push_back(a);
  return causes;
}

std::vector<Advice> causesOf(const ProvenProgram& program, std::optional<uint64_t> total_bytes) {
  const AnalysedTrace& analysed = program.analysed();
  const DeviceAnalysis& device = program.device();
  std::vector<OomReport> ooms = oomsOf(analysed, device, kMaxOomLayouts);
  if (ooms.empty()) return {};
  OomVerdict verdict = verdictOf(analysed, device, ooms[worstOf(ooms)],
                                 verdictOptions(analysed, device, ooms, total_bytes));
  std::vector<Advice> causes = causesIn(adviceOn(analysed, device, verdict));
  // With kinds of events missing, the lives are drawn as long as they can have been: a replay of
  // them would prove something about another program.
  model::Bounds bounds = model::boundsOf(device.device);
  bool is_exact = bounds.active == model::Bound::kExact && bounds.reserved == model::Bound::kExact;
  if (is_exact) addCauseEffects(program, causes);
  orderByEffect(causes);
  return causes;
}

}  // namespace tidegauge::analysis
