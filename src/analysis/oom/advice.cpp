#include "analysis/oom/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/oom/advice_rules.h"
#include "base/format.h"

namespace tidegauge::analysis {
namespace {

void onFragmentation(Adviser& c, const OomVerdict& v) {
  tryExpandable(c, v);
  if (c.rules.expandable && c.splitLimitSet()) dropSplitLimit(c);
  if (!c.rules.expandable) splitLimit(c, v);
  flushAtTheTrough(c, v);
  smallerRequest(c, v);
}

// Settings whose effect is not the expected one.
void onSettings(Adviser& c) {
  bool gc = c.rules.gc_threshold && *c.rules.gc_threshold > 0 && *c.rules.gc_threshold < 1;
  if (gc && !c.rules.memory_fraction) {
    Advice& a = c.add(AdviceKind::kGcNeedsFraction,
                      fmt::format("garbage_collection_threshold:{} does nothing "
                                  "unless a memory fraction below 1 is set too; "
                                  "the file does not say whether one is.",
                                  *c.rules.gc_threshold));
    rest(a, "gc_threshold_percent", static_cast<uint64_t>(*c.rules.gc_threshold * 100 + 0.5),
         Evidence::Unit::kPercent, "PYTORCH_CUDA_ALLOC_CONF");
  }
  bool said = std::any_of(c.advice.begin(), c.advice.end(),
                          [](const Advice& a) { return a.kind == AdviceKind::kNoSplitLimit; });
  if (c.rules.expandable && c.splitLimitSet() && !said) dropSplitLimit(c);
}

void onRow(Adviser& c, const OomVerdict& v, const VerdictRow& row) {
  switch (row.verdict) {
    case Verdict::kCapacity:
      onCapacity(c, v, row.bytes);
      break;
    case Verdict::kWaste:
      onWaste(c, v);
      break;
    case Verdict::kFragmentation:
      onFragmentation(c, v);
      break;
    case Verdict::kOtherPool:
      onOtherPool(c, v);
      break;
    case Verdict::kOthers:
      onOthers(c, v, row.bytes);
      break;
    case Verdict::kCap:
      onCap(c, v);
      break;
    case Verdict::kFlaw:
      onFlaw(c, v, row.bytes);
      break;
  }
}

}  // namespace

Advice& Adviser::add(AdviceKind kind, std::string text, std::string setting) {
  advice.push_back({.kind = kind, .text = std::move(text), .setting = std::move(setting)});
  return advice.back();
}

std::optional<bool> Adviser::has(std::string_view setting) const {
  if (!settings.present) return std::nullopt;
  return std::any_of(settings.items.begin(), settings.items.end(),
                     [&](const auto& item) { return item.first == setting; });
}

bool Adviser::canTryExpandable() const {
  return !rules.expandable && has("expandable_segments").value_or(true);
}

void rest(Advice& advice, std::string name, uint64_t value, Evidence::Unit unit,
          std::string source) {
  advice.evidence.push_back({std::move(name), value, unit, std::move(source)});
}

std::string atEvent(const OomVerdict& v) {
  return fmt::format("state at step {}", base::withCommas(v.step));
}

std::string_view name(AdviceKind kind) {
  constexpr std::array<std::string_view, 15> kNames = {"no_setting_helps",
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
                                                       "other_processes"};
  return kNames[static_cast<size_t>(kind)];
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
