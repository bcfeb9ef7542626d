#include "report/words/incomplete_words.h"

#include <fmt/format.h>

#include "base/text_layout.h"
#include "model/recorded_work.h"
#include "report/words/sentence.h"

namespace tidegauge::report {
namespace {

constexpr size_t kMaxReasons = 2;  // in a sentence

}  // namespace

model::Incomplete incompleteOf(const analysis::AnalysedTrace& analysed) {
  const model::RecordedWork* work = analysed.trace.work.get();
  return work == nullptr ? model::Incomplete() : model::incompleteOf(*work);
}

std::string markOf(const model::Incomplete& incomplete, model::FigureSet figures) {
  if (!incomplete.touches(figures)) return "";
  return incomplete.isAtLeast(figures) ? " (at least)" : " (incomplete)";
}

std::string nothingWords(const model::Trace& trace) {
  return trace.work ? "No call of the CUDA driver, the runtime or PyTorch was recorded."
                    : "The file has no device, because it has no segments and no events.";
}

std::string whyIncomplete(const model::Incomplete& incomplete, model::FigureSet figures) {
  std::string text;
  std::vector<std::string> words = incomplete.words(figures);
  for (size_t i = 0; i < words.size() && i < kMaxReasons; ++i)
    text += (i > 0 ? "; " : "") + base::printable(words[i]);
  if (words.size() > kMaxReasons) text += fmt::format("; and {} more", words.size() - kMaxReasons);
  return text;
}

std::string howIncomplete(const model::Incomplete& incomplete, model::FigureSet figures) {
  return (incomplete.isAtLeast(figures) ? "At least: these may be too low. "
                                        : "Incomplete: these may be too low or too high. ") +
         whyIncomplete(incomplete, figures);
}

nlohmann::json incompleteList(const model::Incomplete& incomplete, model::FigureSet figures) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& words : incomplete.words(figures)) list.push_back(clean(words));
  return list;
}

nlohmann::json incompleteRows(const model::Incomplete& incomplete) {
  nlohmann::json rows = nlohmann::json::array();
  for (const model::Missing& missing : incomplete.missing())
    rows.push_back({{"figures", missing.figures.names()},
                    {"reason", clean(missing.words)},
                    {"at_least", missing.is_older}});
  return rows;
}

Sentence incompleteSentence(const model::Incomplete& incomplete) {
  std::string figures;
  for (std::string_view name : incomplete.figures().names())
    figures += (figures.empty() ? "" : ", ") + std::string(name);
  bool at_least = incomplete.isAtLeast(incomplete.figures());
  return {{plain(at_least ? "At least: figures of " : "Incomplete: figures of "), strong(figures),
           plain(at_least ? " may be too low (" : " may be too low or too high ("),
           plain(whyIncomplete(incomplete, model::FigureSet::all())), plain(")")},
          sqlLink(analysis::kIncompleteSql),
          analysis::kIncompleteSql};
}

}  // namespace tidegauge::report
