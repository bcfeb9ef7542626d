// tidegauge report FILE… [--json] [--top N]: what used the memory, as text or JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tidegauge::cli {

// The same as `tidegauge report FILE`. Returns the exit code.
int reportFile(const std::string& path);

void addReportCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
