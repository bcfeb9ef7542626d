// tidegauge whatif FILE: replays the allocator under the recording's settings to verify it, and
// under others to find which would have helped.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addWhatIfCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
