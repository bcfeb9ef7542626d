// The sentences of a what-if: causes outside the settings, what helps and how to set it, what does
// not, and how far the replay is proven.
#include <fmt/format.h>

#include "report/what_if/outcome_words.h"
#include "report/what_if/result_words.h"
#include "report/what_if/what_if_sentences.h"
#include "report/what_if/what_if_text.h"

namespace tidegauge::report {
namespace {

using analysis::Replayed;
using analysis::WhatIf;

// For a requested setting.
std::string wishedSentence(const WhatIf& report, const Replayed& it) {
  return fmt::format("With {}, {} ({} with its own settings), and {}.",
                     withSpaces(settingsName(it.conf)), failsWords(it), failedWords(report.own),
                     peakOf(report, it));
}

std::string editSentence(const WhatIf& report, const analysis::ReplayedEdit& it) {
  const Replayed &own = report.own, &other = it.replayed;
  std::string text = fmt::format("{}: {}", analysis::words(it.edit), peakOf(report, other));
  if (own.mostOoms() > 0 || other.mostOoms() > 0)
    text += fmt::format("; {} ({} {})", failsWords(other), failedWords(own),
                        asBeforeWords(report, "would in the unchanged program"));
  if (other.min_capacity_bytes)
    text += fmt::format("; the smallest device memory with which no request fails is {}{}",
                        mibWords(*other.min_capacity_bytes),
                        report.recorded_ooms > 0 ? " or more" : "");
  text += ".";
  // A name of the program, or of a function, keeps its first letter.
  using What = analysis::ProgramEdit::What;
  bool is_word = it.edit.what == What::kDrop || it.edit.what == What::kHalve;
  if (is_word) text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

void addAnswer(const WhatIf& report, Texts& out) {
  if (report.best_helps) {
    out.push_back(plainText(bestOutcome(report)));
    addHowToSet(report, out);
  } else if (!report.candidates.empty() && !isImpossible(report) && report.isProven() &&
             !report.own.stopped_at) {
    out.push_back(plainText(noneOutcome(report)));
    if (std::string from = fromLimitWords(report); !from.empty()) out.push_back(std::move(from));
  }
  for (const analysis::ReplayedEdit& it : report.edits) out.push_back(editSentence(report, it));
  // The table has them too; among the known settings they also get a sentence.
  if (!report.are_mixed) return;
  for (const Replayed& it : report.candidates)
    if (it.is_wished && !it.stopped_at && !(report.best_helps && &it == &report.candidates.front()))
      out.push_back(wishedSentence(report, it));
}

}  // namespace

Texts whatIfSentences(const analysis::AnalysedTrace& analysed, const WhatIf& report) {
  if (report.verified.events_checked == 0)
    return {"No event of this device is from PyTorch's allocator, so there is nothing to replay."};
  Texts out;
  addCauses(analysed, report, out);
  addDoubts(analysed.trace, report, out);
  addAnswer(report, out);
  addDisproved(analysed, report, out);
  addSizes(report, out);
  addNotes(report, out);
  return out;
}

}  // namespace tidegauge::report
