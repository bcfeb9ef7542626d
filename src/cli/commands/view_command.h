// tidegauge view FILE…: opens the files, serves the page on loopback, prints its address.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addViewCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
