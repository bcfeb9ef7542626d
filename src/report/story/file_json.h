// The parts that the JSON of the report and of the page share: file, phases, identities, issues.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/summary.h"

namespace tidegauge::report {

nlohmann::json fileJson(const analysis::AnalysedTrace& analysed);
nlohmann::json phasesJson(const analysis::AnalysedTrace& analysed,
                          const analysis::DeviceSummary& summary);
nlohmann::json identitiesJson(const analysis::DeviceSummary& summary);
nlohmann::json issuesJson(const analysis::AnalysedTrace& analysed);

// Null: the file has no times.
nlohmann::json timeJson(const analysis::DeviceAnalysis& device, analysis::Step step);
nlohmann::json orNull(std::optional<uint64_t> number);

}  // namespace tidegauge::report
