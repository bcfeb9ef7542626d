// tidegauge record [-o FILE] -- COMMAND…: records a program's use of device memory through eBPF.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addRecordCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
