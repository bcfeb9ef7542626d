// tidegauge diff A B: what grew and what vanished, by source line. With more files, or the devices
// of one: which rank stands out.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addDiffCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
