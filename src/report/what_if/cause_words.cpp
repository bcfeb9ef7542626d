// Causes outside the settings, in the words of `report`.
#include "report/oom/advice_words.h"
#include "report/what_if/what_if_sentences.h"

namespace tidegauge::report {
namespace {

using analysis::Advice;

// A flush is only worth a sentence if it is proven: it is not the cause.
bool isWorthTelling(const Advice& cause) {
  bool helps = cause.effect && cause.effect->helps;
  return helps || (!cause.isDisproved() && cause.kind != analysis::AdviceKind::kEmptyCache);
}

}  // namespace

void addCauses(const analysis::AnalysedTrace& analysed, const analysis::WhatIf& report,
               Texts& out) {
  for (const Advice& cause : report.causes) {
    if (!isWorthTelling(cause)) continue;
    std::string text = adviceText(analysed, cause);
    if (auto effect = effectSentence(cause, 1, {})) text += " " + plainText(effect->parts);
    out.push_back(std::move(text));
    if (cause.setting.empty()) continue;
    if (std::string line = copyLine(analysed, cause); !line.empty())
      out.push_back("To set it: " + line);
  }
}

void addDisproved(const analysis::AnalysedTrace& analysed, const analysis::WhatIf& report,
                  Texts& out) {
  if (!report.edits.empty()) return;
  if (std::string text = disprovedWords(analysed, report.causes); !text.empty())
    out.push_back(std::move(text));
}

}  // namespace tidegauge::report
