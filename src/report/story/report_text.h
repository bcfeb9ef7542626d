// The report as text for a terminal: at most 100 columns, plain words; every total says what it
// includes. Below 72 columns, rows of tables take two lines.
#pragma once

#include <string>
#include <vector>

#include "analysis/summary.h"
#include "report/words/range_summary.h"
#include "report/words/text_options.h"

namespace tidegauge::report {

// `devices` from choose().
std::string reportText(const analysis::AnalysedTrace& analysed, const std::vector<Chosen>& devices,
                       const TextOptions& options);
// The report on all devices.
std::string reportText(const analysis::AnalysedTrace& analysed, const TextOptions& options);

}  // namespace tidegauge::report
