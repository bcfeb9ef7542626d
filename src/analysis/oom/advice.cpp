#include "analysis/oom/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/oom/advice_rules.h"
#include "base/format.h"

namespace tidegauge::analysis {
namespace {

void onFragmentation(Adviser& c, const OomVerdict& v) {
  size_t before = c.advice.size();
  tryExpandable(c, v);
  if (c.rules.expandable && c.splitLimitSet()) dropSplitLimit(c);
  if (!c.rules.expandable) splitLimit(c, v);
  flushAtTheTrough(c, v);
  smallerRequest(c, v);
  // The setting against pieces is on already, or this platform does not have it.
  if (c.advice.size() == before && v.rows.size() == 1) holdLess(c, v, std::nullopt);
}

// Settings whose effect is not the expected one.
void onSettings(Adviser& c) {
  bool gc = c.rules.gc_threshold && *c.rules.gc_threshold > 0 && *c.rules.gc_threshold < 1;
  if (gc && !c.rules.memory_fraction) {
    Advice& a = c.add(AdviceKind::kGcNeedsFraction);
    rest(a, "gc_threshold_percent",
         static_cast<uint64_t>(std::llround(*c.rules.gc_threshold * 100)), Evidence::Unit::kPercent,
         "PYTORCH_CUDA_ALLOC_CONF");
  }
  if (lacksExpandable(c.settings)) {
    Advice& a = c.add(AdviceKind::kNotInEffect, "expandable_segments:True");
    rest(a, "in_effect", 0, Evidence::Unit::kCount, "allocator settings in the file");
  }
  bool said = std::any_of(c.advice.begin(), c.advice.end(),
                          [](const Advice& a) { return a.kind == AdviceKind::kNoSplitLimit; });
  if (c.rules.expandable && c.splitLimitSet() && !said) dropSplitLimit(c);
}

void onRow(Adviser& c, const OomVerdict& v, const VerdictRow& row) {
  switch (row.verdict) {
    case Verdict::kCapacity:
      return onCapacity(c, v, row.bytes);
    case Verdict::kWaste:
      return onWaste(c, v);
    case Verdict::kFragmentation:
      return onFragmentation(c, v);
    case Verdict::kOtherPool:
      return onOtherPool(c, v);
    case Verdict::kOthers:
      return onOthers(c, v, row.bytes);
    case Verdict::kCap:
      return onCap(c, v);
    case Verdict::kFlaw:
      return onFlaw(c, v, row.bytes);
    case Verdict::kHeldInPool:
      return onHeldInPools(c, v);
    case Verdict::kNoFlush:
      return onNoFlush(c, v);
    case Verdict::kNeverFits:
      return onNeverFits(c, v, row.bytes);
  }
}

}  // namespace

const Evidence* Advice::find(std::string_view evidence_name) const {
  auto found = std::ranges::find(evidence, evidence_name, &Evidence::name);
  return found == evidence.end() ? nullptr : &*found;
}

Advice& Adviser::add(AdviceKind kind, std::string setting) {
  advice.push_back({.kind = kind, .setting = std::move(setting)});
  return advice.back();
}

std::optional<bool> Adviser::has(std::string_view setting) const {
  if (!settings.present) return std::nullopt;
  return std::any_of(settings.items.begin(), settings.items.end(),
                     [&](const auto& item) { return item.first == setting; });
}

bool Adviser::canTryExpandable() const {
  return !rules.expandable && !lacksExpandable(settings) &&
         has("expandable_segments").value_or(true);
}

void rest(Advice& advice, std::string name, uint64_t value, Evidence::Unit unit,
          std::string source) {
  advice.evidence.push_back({std::move(name), value, unit, std::move(source)});
}

std::string atEvent(const OomVerdict& v) {
  return fmt::format("state at step {}", base::withCommas(v.step));
}

std::string_view name(AdviceKind kind) {
  constexpr std::array<std::string_view, 20> kNames = {"no_setting_helps",
                                                       "hold_less",
                                                       "smaller_request",
                                                       "expandable_segments",
                                                       "max_split_size",
                                                       "larger_max_split_size",
                                                       "no_max_split_size",
                                                       "no_roundup",
                                                       "empty_cache",
                                                       "pool",
                                                       "stream",
                                                       "memory_fraction",
                                                       "gc_needs_fraction",
                                                       "try_again",
                                                       "other_processes",
                                                       "release_pool",
                                                       "flush_before_capture",
                                                       "check_request",
                                                       "setting_not_in_effect",
                                                       "replayed_setting"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view name(Evidence::Unit unit) {
  constexpr std::array<std::string_view, 3> kNames = {"bytes", "count", "percent"};
  return kNames[static_cast<size_t>(unit)];
}

std::vector<Advice> adviceOn(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                             const OomVerdict& verdict) {
  Adviser adviser(analysed, device);
  if (verdict.allocator == AllocatorKind::kDriver) {
    onDriverMemory(adviser, verdict);
    return std::move(adviser.advice);
  }
  for (const VerdictRow& row : verdict.rows) onRow(adviser, verdict, row);
  onSettings(adviser);
  return std::move(adviser.advice);
}

std::vector<Advice> adviceOn(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  Adviser adviser(analysed, device);
  if (allocatorOf(device.device) == AllocatorKind::kCaching) {
    onReservedPeak(adviser);
    onReleasableAtTheEnd(adviser);
    onSettings(adviser);
  }
  return std::move(adviser.advice);
}

}  // namespace tidegauge::analysis
