// The sentences of a what-if: what helps and how to set it, what cannot, and how far the replay is proven.
#include <fmt/format.h>

#include "base/format.h"
#include "base/sizes.h"
#include "export/what_if_text.h"

namespace tidegauge::exporting {
namespace {

using analysis::Replayed;

std::string bestSentence(const analysis::WhatIf& report) {
  const Replayed &own = report.own, &best = report.candidates.front();
  std::vector<std::string> sizes{base::humanBytes(own.peakReservedBytes()),
                                 base::humanBytes(best.peakReservedBytes())};
  // What looks alike is told finer.
  if (sizes[0] == sizes[1])
    sizes = base::inOneUnit({own.peakReservedBytes(), best.peakReservedBytes()});
  std::string name = best.conf.empty() ? "To set nothing" : best.conf;
  if (own.stats.ooms == 0)
    return fmt::format("{} would have helped: peak reserved {} instead of {}.", name, sizes[1],
                       sizes[0]);
  std::string failed = best.stats.ooms == 0 ? "no request fails"
                                            : base::counted(best.stats.ooms, "request") +
                                                  (best.stats.ooms == 1 ? " fails" : " fail");
  return fmt::format("{} would have helped: {}, where {} did; peak reserved {}, where it was {}.",
                     name, failed, base::withCommas(own.stats.ooms), sizes[1], sizes[0]);
}

// Nothing that was tried is better.
std::string noneHelps(const analysis::WhatIf& report) {
  const Replayed& own = report.own;
  if (own.stats.ooms == 0) return "No setting that was tried reserves noticeably less.";
  if (report.capacity_bytes && own.peakActiveBytes() > *report.capacity_bytes / 10 * 9)
    return fmt::format(
        "No setting helps: {} of {} were in live blocks at the peak, so what is missing is "
        "capacity, or holding "
        "less.",
        base::humanBytes(own.peakActiveBytes()), base::humanBytes(*report.capacity_bytes));
  return "No setting that was tried lets more requests through.";
}

// The first step from which on one of the answers that are told in words, or of another program, is a forecast.
std::optional<analysis::Step> forecastFrom(const analysis::WhatIf& report) {
  std::optional<analysis::Step> first = report.own.forecast_from;
  auto meet = [&](const Replayed& it) {
    if (it.forecast_from) first = std::min(first.value_or(*it.forecast_from), *it.forecast_from);
  };
  if (report.best_helps) meet(report.candidates.front());
  for (const analysis::ReplayedEdit& edit : report.edits) meet(edit.replayed);
  return first;
}

}  // namespace

std::vector<std::string> whatIfSentences(const analysis::WhatIf& report) {
  std::vector<std::string> sentences;
  const Replayed& own = report.own;
  if (report.best_helps) {
    const Replayed& best = report.candidates.front();
    sentences.push_back(bestSentence(report));
    sentences.push_back(best.conf.empty()
                            ? std::string("To set it: leave PYTORCH_CUDA_ALLOC_CONF out.")
                            : "To set it: PYTORCH_CUDA_ALLOC_CONF=" + best.conf);
    if (best.conf.find("per_process_memory_fraction") != std::string::npos)
      sentences.push_back(
          "per_process_memory_fraction is a key since torch 2.9; before, call "
          "torch.cuda.set_per_process_memory_fraction() at the start.");
  } else if (!report.candidates.empty()) {
    sentences.push_back(noneHelps(report));
  }
  if (own.stats.ooms > 0 && report.own_min_capacity_bytes == std::nullopt && !report.best_helps)
    sentences.push_back("--min-capacity says how large a card the run needs.");
  if (report.own_min_capacity_bytes) {
    std::string text =
        fmt::format("The smallest card on which the run gets through has {} for this process",
                    base::humanBytes(*report.own_min_capacity_bytes));
    if (report.best_min_capacity_bytes)
      text += fmt::format("; with {}, {}", report.candidates.front().conf,
                          base::humanBytes(*report.best_min_capacity_bytes));
    sentences.push_back(text + ".");
  }
  if (analysis::hasIdleThreshold(report.verified.settings))
    sentences.push_back(
        "garbage_collection_threshold does nothing here: it is of a memory fraction, and none is "
        "set "
        "(per_process_memory_fraction, or torch.cuda.set_per_process_memory_fraction()). If the "
        "program sets one, "
        "give --fraction and --capacity.");
  auto fighting = [](const Replayed& it) { return analysis::fights(it.settings); };
  if (fighting(own) || std::ranges::any_of(report.candidates, fighting))
    sentences.push_back(
        "max_split_size_mb and expandable_segments fight: small requests may not use the large "
        "free stretches "
        "that expandable segments have, and map new pages instead.");
  if (report.verified.settings.tie == replay::TieBreak::kAddress && !report.candidates.empty())
    sentences.push_back(
        "Of blocks of one size this PyTorch takes the one with the lowest address, so the driver's "
        "placement moves "
        "the result: the range is over three ways to place.");
  if (auto from = forecastFrom(report))
    sentences.push_back(
        fmt::format("From step {} on it is a forecast: there a request goes another way than it "
                    "did, and what the program would "
                    "have done next is not known. Against PyTorch's own runs such peaks were off "
                    "by up to 13 %.",
                    base::withCommas(*from)));
  if (!report.capacity_bytes)
    sentences.push_back(
        "How much the device has is not known, so nothing fails here: --capacity 80GiB says it.");
  if (report.verified.events_exact < report.verified.events_checked)
    sentences.push_back(fmt::format(
        "{} of {} were handed out otherwise than these rules do: take the figures as estimates.",
        base::withCommas(report.verified.events_checked - report.verified.events_exact),
        base::counted(report.verified.events_checked, "event")));
  return sentences;
}

}  // namespace tidegauge::exporting
