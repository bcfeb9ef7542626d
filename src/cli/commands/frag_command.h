// tidegauge frag FILE: free memory inside segments that could not be used, over time; a layout
// score with its forecast; a picture of where blocks are.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addFragCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
