// The report as text for a terminal: at most 100 columns, plain words, every total says what it
// holds. Below 72 columns rows of tables take two lines.
#pragma once

#include <string>
#include <vector>

#include "analysis/summary.h"
#include "report/words/range_summary.h"
#include "report/words/text_options.h"

namespace tidegauge::exporting {

// `devices` as choose() gives them.
std::string reportText(const analysis::AnalysedTrace& analysed, const std::vector<Chosen>& devices,
                       const TextOptions& options);
// Everything.
std::string reportText(const analysis::AnalysedTrace& analysed, const TextOptions& options);

}  // namespace tidegauge::exporting
