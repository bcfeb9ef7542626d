// Holders of memory, and totals, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/summary.h"

namespace tidegauge::report {

// Rows of a list in the JSON.
inline constexpr size_t kMaxHolders = 50;

// The holders, largest first; `at`: "oom", "peak" or "end".
nlohmann::json holdersJson(const analysis::AnalysedTrace& analysed, int device,
                           const analysis::Holders& holders, const char* at);

// Requested bytes are null where the file states rounded sizes (model/pinned_requests.h).
nlohmann::json totalsJson(const model::Device& device, const analysis::Totals& totals);

}  // namespace tidegauge::report
