// Sentences and texts of files as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/words/sentence.h"

namespace tidegauge::report {

// Invalid UTF-8 of a hostile file is replaced; it never throws.
std::string clean(std::string_view text);

nlohmann::json partsJson(const std::vector<Part>& parts);
nlohmann::json linkJson(const std::optional<Link>& link);
nlohmann::json sentencesJson(const std::vector<Sentence>& sentences);
// [{"text": …, "sql": …, "view": "timeline"}]
nlohmann::json evidenceJson(const std::vector<Sentence>& sentences);

}  // namespace tidegauge::report
