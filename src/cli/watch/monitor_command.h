// tidegauge monitor [--listen 127.0.0.1:9400] [--otlp http://…] [--stacks WHICH] [-p PID | --comm
// GLOB
// | …]: figures of all that runs, as a live page, for Prometheus and OpenTelemetry, until Ctrl-C.
#pragma once

#include <CLI/CLI.hpp>

namespace tidegauge::cli {

void addMonitorCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
