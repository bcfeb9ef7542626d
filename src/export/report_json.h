// The report as JSON: `tidegauge report --json` (docs/json.md) and the page's session and overview
// (docs/formats/page-api.md). Bytes are exact integers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/summary.h"

namespace tidegauge::exporting {

// The whole file, all devices: {"file": …, "devices": […], "issues": […], "settings": {…}}.
nlohmann::json reportJson(const analysis::AnalysedTrace& analysed);

// FileInfo of the page's session.
nlohmann::json sessionFileJson(const analysis::AnalysedTrace& analysed, size_t file_id);

// The page's overview of one device.
nlohmann::json overviewJson(const analysis::AnalysedTrace& analysed, int32_t device_ordinal);

}  // namespace tidegauge::exporting
