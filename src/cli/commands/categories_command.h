// tidegauge categories [FILE]: prints the rules for what memory is for, for editing; or checks
// those in a file.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addCategoriesCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
