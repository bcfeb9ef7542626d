// A comparison as JSON: `tidegauge diff --json` and the page's Diff view. Keys:
// docs/formats/json.md, docs/schema/diff.schema.json. Bytes are exact integers; every row is
// included.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/compare/diff.h"
#include "analysis/compare/diff_ranks.h"
#include "report/diff/diff_table.h"

namespace tidegauge::report {

// Texts are as in the file: dump with a handler that replaces invalid UTF-8.
nlohmann::json diffJson(const analysis::Diff& diff, const DiffTable& table,
                        const std::string& name_a, const std::string& name_b);
nlohmann::json ranksJson(const std::vector<analysis::DiffSide>& sides,
                         const analysis::RankTable& table, const std::vector<std::string>& names);

}  // namespace tidegauge::report
