// The report as text for a terminal: at most 100 columns, plain words, every total says what it
// holds. Below 72 columns rows of tables take two lines.
#pragma once

#include <optional>
#include <string>

#include "analysis/summary.h"
#include "export/range_summary.h"
#include "export/replays.h"

namespace tidegauge::exporting {

struct TextOptions {
  bool colour = false;  // ANSI
  size_t columns = 100;
  size_t holders = 12;                       // rows per table
  std::string name{};                        // of the file; empty: the last part of its path
  bool evidence = true;                      // where to see each number, and the SQL that gives it
  std::optional<uint64_t> capacity_bytes{};  // of the device, where somebody told it
  Replays replays = Replays::kShort;
};

// `devices` as choose() gives them.
std::string reportText(const analysis::AnalysedTrace& analysed, const std::vector<Chosen>& devices,
                       const TextOptions& options);
// Everything.
std::string reportText(const analysis::AnalysedTrace& analysed, const TextOptions& options);

}  // namespace tidegauge::exporting
