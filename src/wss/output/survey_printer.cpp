#include "wss/output/survey_printer.h"

#include <fmt/format.h>

#include <utility>

#include "base/text_layout.h"
#include "wss/words/json_text.h"

namespace tidegauge::wss {

SurveyTextPrinter::SurveyTextPrinter(const Survey& survey, int64_t window_ns,
                                     const Process* process, size_t columns)
    : survey_(survey), head_(survey.head(window_ns)), columns_(columns) {
  if (process != nullptr)
    whose_ = fmt::format(" of {} (process {})", base::printable(process->name()), process->pid());
}

std::string SurveyTextPrinter::wrapped(const std::string& words) const {
  return base::wrapped(words, columns_, 0, 2);
}

std::string SurveyTextPrinter::begin() {
  std::string text = wrapped(fmt::format("{}{}: {}.", head_.name, whose_, head_.how));
  if (!head_.lasts.empty()) text += wrapped("The measurement takes " + head_.lasts + ".");
  if (!head_.limits.empty())
    text += wrapped(fmt::format("Careful: {}.", fmt::join(head_.limits, "; ")));
  return text;
}

std::string SurveyTextPrinter::window(const SurveyRow& row) {
  return (rows_++ == 0 ? head_.table_head : "") + row.text;
}

std::string SurveyTextPrinter::end(const Ending& /*ending*/) {
  if (rows_ == 0) return {};
  std::string words = survey_.verdict().text;
  if (words.ends_with('\n')) words.pop_back();
  return wrapped(words);
}

SurveyJsonPrinter::SurveyJsonPrinter(const Survey& survey, int64_t window_ns,
                                     const Process* process, JsonForm form)
    : survey_(survey), form_(form) {
  SurveyHead head = survey.head(window_ns);
  head_ = {{"backend", head.name}, {"how", head.how}, {"limits", head.limits}};
  if (process == nullptr) return;
  head_["pid"] = process->pid();
  head_["process"] = process->name();
}

std::string SurveyJsonPrinter::window(const SurveyRow& row) {
  is_empty_ = false;
  if (form_ == JsonForm::kDocument) {
    rows_.push_back(row.fields);
    return {};
  }
  nlohmann::json line = head_;
  line.update(row.fields);
  return jsonText(line) + "\n";
}

std::string SurveyJsonPrinter::end(const Ending& ending) {
  if (is_empty_) return {};
  SurveyVerdict verdict = survey_.verdict();
  nlohmann::json ended = endedJson(ending.status);
  if (form_ == JsonForm::kLines)
    return jsonText({{"backend", head_["backend"]}, {"all", verdict.fields}, {"ended", ended}}) +
           "\n";
  head_["rows"] = std::move(rows_);
  head_["all"] = verdict.fields;
  head_["verdict"] = verdict.text;
  head_["ended"] = ended;
  return jsonText(head_, 2) + "\n";
}

}  // namespace tidegauge::wss
