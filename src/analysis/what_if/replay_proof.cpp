#include "analysis/what_if/replay_proof.h"

#include <algorithm>
#include <string>

#include "analysis/what_if/causes.h"
#include "analysis/what_if/proven_program.h"
#include "model/lives/missing_actions.h"

namespace tidegauge::analysis {
namespace {

// Another setting replaces an advised one only if it saves this share of the peak, 1 in 20.
constexpr uint64_t kMuchBetter = 20;

// The recording's settings, changed as the advice proposes; absent: it proposes none.
std::optional<replay::Settings> advised(replay::Settings settings, const Advice& advice) {
  switch (advice.kind) {
    case AdviceKind::kExpandable:
    case AdviceKind::kNoSplitLimit:
      settings.expandable = true;
      settings.max_split_bytes = replay::kUnlimited;  // incompatible with expandable segments
      return settings;
    case AdviceKind::kLargerSplitLimit:
      settings.max_split_bytes = replay::kUnlimited;
      return settings;
    case AdviceKind::kNoRoundup:
      settings.roundup_divisions.fill(0);
      return settings;
    case AdviceKind::kSplitLimit: {
      auto limit = replay::parseConf(advice.setting);
      if (!limit.ok()) return std::nullopt;
      settings.expandable = false;
      settings.max_split_bytes = limit.value().max_split_bytes;
      return settings;
    }
    default:
      return std::nullopt;
  }
}

// The items of `conf` that `own` does not have.
std::string changesOf(const std::string& own, const std::string& conf) {
  std::vector<std::string> known = confItems(own);
  std::string changes;
  for (const std::string& item : confItems(conf)) {
    if (std::ranges::find(known, item) != known.end()) continue;
    changes += (changes.empty() ? "" : ",") + item;
  }
  return changes;
}

// A recording of a state alone has nothing that a setting could change, so it disproves nothing.
bool allocates(const ProvenProgram& program) {
  return std::ranges::any_of(program.program().requests, [](const replay::Request& request) {
    return request.op == replay::Op::kMalloc;
  });
}

class Prover {
 public:
  Prover(const AnalysedTrace& analysed, const DeviceAnalysis& device,
         std::optional<uint64_t> capacity_bytes, std::optional<Step> explained,
         std::stop_token stop, std::vector<Advice>& advice)
      : analysed_(analysed), device_(device), explained_(explained), advice_(advice) {
    wish_.with_known = true;
    wish_.with_fit = true;
    wish_.capacity_bytes = capacity_bytes;
    wish_.is_own_capacity = true;
    wish_.effort.stop = std::move(stop);
  }

  std::optional<ReplayProof> prove() {
    replay::Settings own = replay::settingsOf(analysed_.trace);
    for (const Advice& one : advice_) {
      confs_.emplace_back();
      auto settings = advised(own, one);
      if (!settings || *settings == own) continue;
      confs_.back() = replay::confOf(*settings);
      if (std::ranges::find(wish_.confs, *confs_.back()) == wish_.confs.end())
        wish_.confs.push_back(*confs_.back());
    }
    ProvenProgram program(analysed_, device_, wish_);
    auto what_if = whatIf(program, wish_);
    if (!what_if.ok()) return std::nullopt;  // Tidegauge's own settings are always valid
    ReplayProof proof{std::move(what_if).value()};
    program.keepOwn(proof.what_if.own);
    // Where its own settings give another outcome than the recorded one, something else had an
    // effect, and a gain would be against a program that did not run.
    if (allocates(program) && program.isProven()) {
      addCauseEffects(program, advice_);
      for (Advice& a : advice_)
        if (a.effect) a.effect->helps &= !failsStill(a.effect->failing_steps);
      addEffects(proof.what_if);
    }
    proof.what_if.causes = causesIn(advice_);
    return proof;
  }

 private:
  void addEffects(const WhatIf& report) {
    if (!report.isProven() || report.own.stopped_at) return;
    for (size_t i = 0; i < advice_.size(); ++i) {
      if (!confs_[i]) continue;
      auto tried = std::ranges::find(report.candidates, *confs_[i], &Replayed::conf);
      if (tried == report.candidates.end() || tried->stopped_at) continue;
      // Under a higher limit, which explains the recording as well, it would help.
      if (report.helps_from && confs_[i] == report.helps_from->conf) continue;
      advice_[i].effect = effectOf(report, *tried);
    }
    if (report.best_helps) addBest(report);
    countTooLittle(report);
    orderByEffect(advice_);
  }

  // "No setting helps" would deny that one lets a few more requests succeed.
  void countTooLittle(const WhatIf& report) {
    std::vector<const Replayed*> found = tooLittle(report);
    if (found.empty()) return;
    uint64_t least_ooms = found.front()->mostOoms();
    for (Advice& a : advice_) {
      if (a.kind != AdviceKind::kNoSettingHelps) continue;
      auto add = [&](const char* name, uint64_t value) {
        a.evidence.push_back({name, value, Evidence::Unit::kCount, "replay"});
      };
      add("settings_that_help_too_little", found.size());
      add("ooms_before", report.own.leastOoms());
      add("ooms_after", least_ooms);
    }
  }

  bool failsStill(const std::vector<Step>& steps) const {
    return explained_ && std::ranges::find(steps, *explained_) != steps.end();
  }
  bool isGood(const Replayed& tried, const WhatIf& report) const {
    return helps(tried, report) && !failsStill(tried.failingSteps());
  }

  AdviceEffect effectOf(const WhatIf& report, const Replayed& tried) const {
    return {.helps = isGood(tried, report),
            .ooms_before = report.own.leastOoms(),
            .ooms_after = tried.mostOoms(),
            .least_ooms_after = tried.leastOoms(),
            .first_failing_step = tried.firstFailingStep(),
            .failing_steps = tried.failingSteps(),
            .peak_reserved_before_bytes = report.own.peakReservedBytes(),
            .peak_reserved_after_bytes = tried.peakReservedBytes(),
            .peak_is_at_least = tried.rescued > 0,
            .conf = tried.conf,
            .forecast_from = tried.forecast_from};
  }

  void addBest(const WhatIf& report) {
    auto found = std::ranges::find_if(report.candidates, [&](const Replayed& tried) {
      return isGood(tried, report) && canSet(tried.conf);
    });
    if (found == report.candidates.end()) return;
    std::erase_if(advice_, [](const Advice& a) { return a.kind == AdviceKind::kNoSettingHelps; });
    const Replayed& best = *found;
    AdviceEffect effect = effectOf(report, best);
    bool is_as_good = std::ranges::any_of(advice_, [&](const Advice& a) {
      if (!a.effect || !a.effect->helps) return false;
      uint64_t after = a.effect->peak_reserved_after_bytes;
      return a.effect->ooms_after <= effect.ooms_after &&
             after <= effect.peak_reserved_after_bytes + after / kMuchBetter;
    });
    if (is_as_good) return;
    Advice a{.kind = AdviceKind::kReplayedSetting,
             .setting = changesOf(report.own.conf, best.conf)};
    a.evidence = {{"ooms_before", effect.ooms_before, Evidence::Unit::kCount, "replay"},
                  {"ooms_after", effect.ooms_after, Evidence::Unit::kCount, "replay"}};
    a.effect = std::move(effect);
    advice_.insert(advice_.begin(), std::move(a));  // before those that are less good
  }

  // The fraction is a key only since torch 2.9, which writes it into the settings. Before, it is a
  // call, which whatif names.
  bool canSet(const std::string& conf) const {
    constexpr std::string_view kFraction = "per_process_memory_fraction";
    const model::AllocatorSettings& settings = analysed_.trace.settings;
    return !confNames(conf, kFraction) || confNames(settings.conf, kFraction) ||
           std::ranges::any_of(settings.items,
                               [&](const auto& item) { return item.first == kFraction; });
  }

  const AnalysedTrace& analysed_;
  const DeviceAnalysis& device_;
  std::optional<Step> explained_;
  std::vector<Advice>& advice_;
  WhatIfWish wish_;
  std::vector<std::optional<std::string>> confs_;  // by advice
};

}  // namespace

std::optional<ReplayProof> proveAdvice(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                       std::optional<uint64_t> capacity_bytes,
                                       const ReplayWish& replays, std::optional<Step> explained,
                                       std::vector<Advice>& advice) {
  Step steps = device.totals.steps();
  bool is_wanted = replays.which == Replays::kAll ||
                   (replays.which == Replays::kShort && steps <= kMaxProofSteps);
  if (!is_wanted || steps == 0 || !isReplayable(device)) return std::nullopt;
  // With kinds of events missing, the lives are drawn as long as they can have been: a replay of
  // them would prove something about another program.
  model::Bounds bounds = model::boundsOf(device.device);
  if (bounds.active != model::Bound::kExact || bounds.reserved != model::Bound::kExact)
    return std::nullopt;
  return Prover(analysed, device, capacity_bytes, explained, replays.stop, advice).prove();
}

}  // namespace tidegauge::analysis
