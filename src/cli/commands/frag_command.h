// tidegauge frag FILE: what lay free inside segments and could not be used, over time; a score of
// the layout's shape with its forecast; a picture of where blocks lay.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addFragCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
