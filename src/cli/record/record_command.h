// tidegauge record [-o FILE] -- COMMAND…: what a program does with device memory, through eBPF.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addRecordCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
