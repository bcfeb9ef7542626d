// The page's session and overview as JSON (docs/formats/page-api.md). Bytes are exact integers.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "analysis/summary.h"

namespace tidegauge::report {

// FileInfo of the page's session; `name` from distinctNames().
nlohmann::json sessionFileJson(const analysis::AnalysedTrace& analysed, size_t file_id,
                               const std::string& name);

// The page's overview of one device. Null: there is no such device.
nlohmann::json overviewJson(const analysis::AnalysedTrace& analysed, int32_t device_ordinal);

// The replay's result for the advice of that overview or, for an out-of-memory event, for the
// advice at that step. Null: not replayed, since it was not requested (analysis::Replays::kShort).
nlohmann::json proofJson(const analysis::AnalysedTrace& analysed,
                         const analysis::DeviceAnalysis& device,
                         std::optional<analysis::Step> oom_step);

}  // namespace tidegauge::report
