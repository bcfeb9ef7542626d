// tidegauge export FILE --to html [-o OUT]: writes a recording as a file for other people.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addExportCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
