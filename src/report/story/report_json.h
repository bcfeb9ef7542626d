// The report as JSON: `tidegauge report --json` (docs/formats/json.md) and the page's session and
// overview (docs/formats/page-api.md). Bytes are exact integers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/summary.h"
#include "analysis/what_if/replay_proof.h"
#include "report/words/range_summary.h"

namespace tidegauge::report {

// The whole file, all devices: {"file": …, "devices": […], "issues": […], "settings": {…}}.
nlohmann::json reportJson(const analysis::AnalysedTrace& analysed);
// These devices, from choose(); for a range: its totals, peaks, holders and ooms. A capacity of the
// devices is used for the verdicts and the time to the wall.
nlohmann::json reportJson(const analysis::AnalysedTrace& analysed,
                          const std::vector<Chosen>& devices,
                          std::optional<uint64_t> capacity_bytes = std::nullopt,
                          analysis::Replays replays = analysis::Replays::kShort);

// FileInfo of the page's session; `name` from distinctNames().
nlohmann::json sessionFileJson(const analysis::AnalysedTrace& analysed, size_t file_id,
                               const std::string& name);

// The page's overview of one device.
nlohmann::json overviewJson(const analysis::AnalysedTrace& analysed, int32_t device_ordinal);

// The replay's result for the advice of that overview or, for an out-of-memory event, for the
// advice at that step. Null: not replayed, since it was not requested (analysis::Replays::kShort).
nlohmann::json proofJson(const analysis::AnalysedTrace& analysed,
                         const analysis::DeviceAnalysis& device,
                         std::optional<analysis::Step> oom_step);

}  // namespace tidegauge::report
