// Who held the memory, and totals, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/summary.h"

namespace tidegauge::exporting {

// Rows of a list in the JSON.
inline constexpr size_t kMostHolders = 50;

// Who held the memory, the largest first; `at`: "oom", "peak" or "end".
nlohmann::json holdersJson(const analysis::AnalysedTrace& analysed, int device,
                           const analysis::Holders& holders, const char* at);

nlohmann::json totalsJson(const analysis::Totals& totals);

}  // namespace tidegauge::exporting
