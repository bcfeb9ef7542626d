#include "analysis/what_if/replay_proof.h"

#include <algorithm>
#include <string>
namespace tidegauge::analysis {
namespace {

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

}  // namespace

std::optional<ReplayProof> proofOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                   const std::vector<Advice>& advice,
                                   std::optional<uint64_t> capacity_bytes) {
  if (!isReplayable(device) || device.totals.steps() == 0) return std::nullopt;
  WhatIfWish wish;
  wish.with_known = true;
  wish.capacity_bytes = capacity_bytes;
  std::vector<std::optional<std::string>> confs;
  replay::Settings own = replay::settingsOf(analysed.trace);
  for (const Advice& one : advice) {
    confs.emplace_back();
    auto settings = advised(own, one);
    if (!settings || *settings == own) continue;
    confs.back() = replay::confOf(*settings);
    if (std::ranges::find(wish.confs, *confs.back()) == wish.confs.end())
      wish.confs.push_back(*confs.back());
  }
  auto what_if = whatIf(analysed, device, wish);
  if (!what_if.ok()) return std::nullopt;  // Tidegauge's own settings are always valid
  ReplayProof proof{std::move(what_if).value(), {}};
  for (const auto& conf : confs) {
    proof.of_advice.emplace_back();
    const auto& candidates = proof.what_if.candidates;
    auto found = std::ranges::find_if(candidates,
                                      [&](const Replayed& it) { return conf && it.conf == *conf; });
    if (found != candidates.end())
      proof.of_advice.back() = static_cast<size_t>(found - candidates.begin());
  }
  return proof;
}

}  // namespace tidegauge::analysis
