// What to know about the figures: settings without an effect, ranges, forecasts, what is unknown.
#include <algorithm>

#include "report/what_if/result_words.h"
#include "report/what_if/what_if_sentences.h"

namespace tidegauge::report {
namespace {

using analysis::Replayed;
using analysis::WhatIf;

template <class Holds>
bool isAny(const WhatIf& report, const Holds& holds) {
  return holds(report.own) || std::ranges::any_of(report.candidates, holds);
}

void addSettings(const WhatIf& report, Texts& out) {
  auto isIdle = [](const Replayed& it) { return analysis::hasIdleThreshold(it.settings); };
  if (analysis::hasIdleThreshold(report.verified.settings) ||
      std::ranges::any_of(report.candidates, isIdle))
    out.push_back(
        "garbage_collection_threshold has no effect here. It is a share of a memory fraction below "
        "1, and none is set (per_process_memory_fraction, or "
        "torch.cuda.set_per_process_memory_fraction()). If the program sets one, add --fraction "
        "and --capacity.");
  if (isAny(report, [](const Replayed& it) { return analysis::fights(it.settings); }))
    out.push_back(
        "max_split_size_mb works against expandable_segments. Small requests must not use the "
        "large free ranges of expandable segments, so they map new pages.");
}

// The first step at which one of the results in the text, or of another program, becomes a
// forecast.
std::optional<analysis::Step> forecastFrom(const WhatIf& report) {
  std::optional<analysis::Step> first = report.own.forecast_from;
  auto meet = [&](const Replayed& it) {
    if (it.forecast_from) first = std::min(first.value_or(*it.forecast_from), *it.forecast_from);
  };
  if (report.best_helps) meet(report.candidates.front());
  for (const analysis::ReplayedEdit& edit : report.edits) meet(edit.replayed);
  for (const Replayed& it : report.candidates)
    if (it.is_wished) meet(it);
  return first;
}

void addUnknown(const WhatIf& report, Texts& out) {
  bool is_expandable = isAny(report, [](const Replayed& it) { return it.settings.expandable; });
  if (report.verified.has_private_pools && !report.verified.private_pools_are_known &&
      report.own.settings.tie == replay::TieBreak::kAddress && is_expandable)
    out.push_back(
        "This recording does not show whether private pools (CUDA graphs) have expandable "
        "segments, as since torch 2.5; replays assume it.");
  if (report.availableBytes()) return;
  std::string text = "The file does not contain the size of the device, so ";
  text += report.own.stats.ooms == 0
              ? "no request fails in these replays."
              : "only requests that no device can serve fail in these replays.";
  // Whoever searched the smallest size needs no other.
  if (!report.own.min_capacity_bytes)
    text += " Set the size with --capacity, e.g. --capacity 80GiB.";
  out.push_back(std::move(text));
}

}  // namespace

void addNotes(const WhatIf& report, Texts& out) {
  addSettings(report, out);
  if (isAny(report, [](const Replayed& it) { return it.hasRange(); }))
    out.push_back(placementWords() + ". The ranges are over three placements.");
  if (auto from = forecastFrom(report))
    out.push_back(
        forecastWords(*from) +
        " There, a request that failed in the recording succeeds in the replay, or the reverse, "
        "and the program might then have behaved differently. In comparisons with real runs of "
        "PyTorch, such peaks were wrong by up to 13 %, and the number of later failures usually "
        "differed.");
  addUnknown(report, out);
  if (report.verified.events_exact < report.verified.events_checked && report.isProven())
    out.push_back(differsWords(report.verified) + ", so the figures are estimates.");
}

}  // namespace tidegauge::report
