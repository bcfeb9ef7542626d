#include "report/words/sentence_json.h"

namespace tidegauge::exporting {

using nlohmann::json;

std::string clean(std::string_view text) {
  json wrapped = std::string(text);
  std::string dumped = wrapped.dump(-1, ' ', false, json::error_handler_t::replace);
  return json::parse(dumped).get<std::string>();
}

json partsJson(const std::vector<Part>& parts) {
  constexpr const char* kStyles[] = {"", "strong", "code"};
  json rows = json::array();
  for (const Part& part : parts) {
    rows.push_back(
        {{"text", clean(part.text)}, {"style", kStyles[static_cast<size_t>(part.style)]}});
  }
  return rows;
}

json linkJson(const std::optional<Link>& link) {
  if (!link) return nullptr;
  json params = json::object();
  for (const auto& [key, value] : link->params) params[key] = value;
  return {{"view", link->view}, {"label", link->label}, {"params", params}};
}

json sentencesJson(const std::vector<Sentence>& sentences) {
  json rows = json::array();
  for (const Sentence& sentence : sentences) {
    rows.push_back({{"parts", partsJson(sentence.parts)}, {"link", linkJson(sentence.link)}});
  }
  return rows;
}

json evidenceJson(const std::vector<Sentence>& sentences) {
  json rows = json::array();
  for (const Sentence& sentence : sentences) {
    rows.push_back({{"text", clean(plainText(sentence.parts))},
                    {"sql", sentence.sql.empty() ? json() : json(sentence.sql)},
                    {"view", sentence.link ? json(sentence.link->view) : json()}});
  }
  return rows;
}

}  // namespace tidegauge::exporting
