// The report as JSON: `tidegauge report --json` (docs/formats/json.md). Bytes are exact integers.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

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
                          const analysis::ReplayWish& replays = analysis::Replays::kShort);

}  // namespace tidegauge::report
