#include "export/report_parts.h"

#include <fmt/format.h>

namespace tidegauge::exporting {

using nlohmann::json;

std::vector<Section> sectionsOf(const SectionContext& context) {
  std::vector<Section> sections = {fragmentationSection(context)};
  for (Section& section : growthSections(context)) sections.push_back(std::move(section));
  sections.push_back(churnSection(context));
  sections.push_back(wallSection(context));
  sections.push_back(replaySection(context));
  for (Section& section : sections)
    if (!section.json.is_null()) section.json["sentences"] = evidenceJson(section.sentences);
  return sections;
}

Part plain(std::string text) { return {std::move(text), Part::Style::kPlain}; }
Part strong(std::string text) { return {std::move(text), Part::Style::kStrong}; }
Part code(std::string text) { return {std::move(text), Part::Style::kCode}; }

Link sqlLink(std::string sql) { return {"sql", "SQL", {{"sql", std::move(sql)}}}; }
Link growthLink(const std::string& list) { return {"growth", "Growth", {{"growth", list}}}; }

json evidenceJson(const std::vector<Sentence>& sentences) {
  json rows = json::array();
  for (const Sentence& sentence : sentences) {
    rows.push_back({{"text", clean(plainText(sentence.parts))},
                    {"sql", sentence.sql.empty() ? json() : json(sentence.sql)},
                    {"view", sentence.link ? json(sentence.link->view) : json()}});
  }
  return rows;
}

std::string evidenceText(const std::string& sql, const std::optional<Link>& link) {
  if (sql.empty()) return {};
  std::string line = fmt::format("› {} · {};", link ? link->label : "SQL", sql);
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  return line;
}

}  // namespace tidegauge::exporting
