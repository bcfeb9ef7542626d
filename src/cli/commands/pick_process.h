// --pid of a recording with several processes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>

#include "cli/open_trace.h"

namespace tidegauge::cli {

void addPidOption(CLI::App& command, std::optional<uint32_t>& pid);

// Keeps only the traces of that process (several, if it ran several programs, or its number was
// reused). The error lists the processes that exist.
base::Status keepProcess(Traces& traces, uint32_t pid);

}  // namespace tidegauge::cli
