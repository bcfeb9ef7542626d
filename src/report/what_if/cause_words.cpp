// Causes outside the settings, in the words of `report`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/oom/advice_words.h"
#include "report/what_if/what_if_sentences.h"

namespace tidegauge::report {
namespace {

using analysis::Advice;

// A flush is only worth a sentence if it is proven: it is not the cause.
bool isWorthTelling(const Advice& cause) {
  return cause.kind != analysis::AdviceKind::kEmptyCache || (cause.effect && cause.effect->helps);
}

}  // namespace

void addCauses(const analysis::AnalysedTrace& analysed, const analysis::WhatIf& report,
               Texts& out) {
  std::vector<std::string> disproved;
  for (const Advice& cause : report.causes) {
    if (cause.isDisproved()) {
      disproved.push_back(shortName(analysed, cause));
      continue;
    }
    if (!isWorthTelling(cause)) continue;
    std::string text = adviceText(analysed, cause);
    if (auto effect = effectSentence(cause, 1, {})) text += " " + plainText(effect->parts);
    out.push_back(std::move(text));
    if (cause.setting.empty()) continue;
    if (std::string line = copyLine(analysed, cause); !line.empty())
      out.push_back("To set it: " + line);
  }
  if (!disproved.empty())
    out.push_back(fmt::format("Does not help in a replay: {}.", fmt::join(disproved, ", ")));
}

}  // namespace tidegauge::report
