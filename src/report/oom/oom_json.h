// Verdicts, pins and advice as JSON: docs/formats/json.md and docs/formats/page-api.md.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "analysis/oom/advice.h"

namespace tidegauge::report {

nlohmann::json verdictJson(const analysis::AnalysedTrace& analysed,
                           const analysis::OomVerdict& verdict);
// With what a replay shows of each ("replayed"; null: not replayed).
nlohmann::json adviceJson(const analysis::AnalysedTrace& analysed,
                          const std::vector<analysis::Advice>& advice);

// The page's details of one event of the device: `verdict` with more rows, sentences, pieces and
// advice.
nlohmann::json oomPageJson(const analysis::AnalysedTrace& analysed,
                           const analysis::DeviceAnalysis& device,
                           const std::vector<analysis::OomReport>& ooms, size_t index,
                           const analysis::VerdictOptions& options);

}  // namespace tidegauge::report
