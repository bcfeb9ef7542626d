// The report as text for a terminal: at most 100 columns, plain words, every total says what it
// holds.
#pragma once

#include <string>

#include "analysis/summary.h"

namespace tidegauge::exporting {

struct TextOptions {
  bool colour = false;  // ANSI
  size_t columns = 100;
  size_t holders = 12;  // rows per table
};

std::string reportText(const analysis::AnalysedTrace& analysed, const TextOptions& options);

}  // namespace tidegauge::exporting
