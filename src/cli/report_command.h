// tidegauge report FILE… [--json] [--top N]: where the memory went, as text or JSON.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addReportCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
