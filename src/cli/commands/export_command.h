// tidegauge export FILE --to html [-o OUT]: a recording as a file for others.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addExportCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
