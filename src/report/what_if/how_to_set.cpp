// How to set the best setting: the line for the environment, and the call to make.
#include <fmt/format.h>

#include <utility>

#include "base/format.h"
#include "report/oom/advice_words.h"
#include "report/what_if/what_if_sentences.h"

namespace tidegauge::report {
namespace {

using analysis::Replayed;

// The fraction is a key only since torch 2.9, and a call since 1.7.
void addLines(const Replayed& best, std::optional<double> known_fraction, Texts& out) {
  replay::Settings others = best.settings;
  auto fraction = std::exchange(others.fraction, std::nullopt);
  if (!fraction || fraction == known_fraction) {
    out.push_back(best.conf.empty() ? std::string("To set it, omit PYTORCH_CUDA_ALLOC_CONF.")
                                    : "To set it: " + environmentLine(best.conf));
    return;
  }
  std::string rest = replay::confOf(others);
  if (!rest.empty()) out.push_back("To set it: " + environmentLine(rest));
  out.push_back(fmt::format(
      "{} torch.cuda.set_per_process_memory_fraction({:g}) at the start of the program; since "
      "PyTorch 2.9, per_process_memory_fraction:{:g} in {} has the same effect.",
      rest.empty() ? "To set it, call" : "Also call", *fraction, *fraction,
      rest.empty() ? "PYTORCH_CUDA_ALLOC_CONF" : "that variable"));
}

}  // namespace

void addHowToSet(const analysis::WhatIf& report, Texts& out) {
  const Replayed& best = report.candidates.front();
  addLines(best, report.fraction, out);
  if (best.settings.fraction && report.capacity_source != analysis::CapacitySource::kGiven &&
      report.capacity_bytes && !report.device_bytes)
    out.push_back(fmt::format(
        "PyTorch applies the fraction to the whole device, whose size is unknown. The replay used "
        "a limit of {}. If other programs hold a part of the device, choose the fraction that "
        "gives this limit.",
        base::humanBytes(best.settings.capBytes(*report.capacity_bytes))));
  if (report.limit_bytes && best.settings.gc_threshold > 0 &&
      best.settings.gc_threshold != report.own.settings.gc_threshold)
    out.push_back(
        "The threshold is a share of the limit that the program set. Without a limit, the "
        "allocator collects no garbage.");
}

}  // namespace tidegauge::report
