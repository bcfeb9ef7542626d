// tidegauge query FILE [SQL|-]: SQL over the file's tables; without SQL, the list of tables.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addQueryCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
