// tidegauge diff A B: what grew, what vanished, by source line; with more files, or the devices of
// one, which of the ranks is the odd one.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addDiffCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
