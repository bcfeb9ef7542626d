// tidegauge report FILE… [--json] [--top N]: where the memory went, as text or JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tidegauge::cli {

// As `tidegauge report FILE`. The exit code.
int reportFile(const std::string& path);

void addReportCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
