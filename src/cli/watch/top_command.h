// tidegauge top [-p PID | --comm GLOB | …] [--once [--json]]: which processes hold and move device
// memory, now.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addTopCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
