// How much less the program would have to hold, and how much memory would suffice.
#include <fmt/format.h>

#include "report/what_if/result_words.h"
#include "report/what_if/what_if_sentences.h"
#include "report/what_if/what_if_text.h"

namespace tidegauge::report {
namespace {

using analysis::Replayed;

std::string smallestWords(const analysis::WhatIf& report) {
  bool has_failed = report.recorded_ooms > 0;
  std::string text =
      fmt::format("The smallest device memory with which no request of this process fails is {}{}",
                  mibWords(*report.own.min_capacity_bytes),
                  has_failed ? " or more (its next requests are unknown)" : "");
  for (const Replayed& it : report.candidates)
    if (it.min_capacity_bytes)
      text += fmt::format("; with {}, {}{}", withSpaces(settingsName(it.conf)),
                          mibWords(*it.min_capacity_bytes), has_failed ? " or more" : "");
  return text + ". Larger sizes were tried too.";
}

}  // namespace

void addSizes(const analysis::WhatIf& report, Texts& out) {
  const Replayed& own = report.own;
  bool is_impossible = isImpossible(report);
  if (report.fit && !is_impossible && report.edits.empty())
    for (std::string& sentence : fitSentences(*report.fit)) out.push_back(std::move(sentence));
  if (own.mostOoms() > 0 && !own.min_capacity_bytes && !report.best_helps && report.edits.empty() &&
      !hasRemedy(report) && !is_impossible && report.isProven() && report.availableBytes())
    out.push_back("--min-capacity finds the smallest device memory with which no request fails.");
  if (own.min_capacity_bytes) out.push_back(smallestWords(report));
}

}  // namespace tidegauge::report
