// tidegauge categories [FILE]: the rules that say what memory is for, to be edited; or checks those
// of a file.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addCategoriesCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
