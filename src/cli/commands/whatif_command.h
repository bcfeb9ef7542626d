// tidegauge whatif FILE: the allocator replayed, under the recording's settings to prove it, and
// under others to say which would have helped.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addWhatIfCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
