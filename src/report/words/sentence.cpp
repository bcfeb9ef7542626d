#include "report/words/sentence.h"

#include <fmt/format.h>

#include "base/format.h"

namespace tidegauge::report {

std::string plainText(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) text += part.text;
  return text;
}

Part plain(std::string text) { return {std::move(text), Part::Style::kPlain}; }
Part strong(std::string text) { return {std::move(text), Part::Style::kStrong}; }
Part code(std::string text) { return {std::move(text), Part::Style::kCode}; }

std::string freeRanges(uint64_t count) {
  return count == 1 ? "one free range" : base::counted(count, "free range");
}

Link sqlLink(std::string sql) { return {"sql", "SQL", {{"sql", std::move(sql)}}}; }
Link growthLink(const std::string& list) { return {"growth", "Growth", {{"growth", list}}}; }

std::string evidenceText(const std::string& sql, const std::optional<Link>& link) {
  if (sql.empty()) return {};
  std::string line = fmt::format("› {} · {};", link ? link->label : "SQL", sql);
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  return line;
}

}  // namespace tidegauge::report
