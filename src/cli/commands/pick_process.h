// --pid of a recording with several processes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>

#include "cli/open_trace.h"

namespace tidegauge::cli {

void addPidOption(CLI::App& command, std::optional<uint32_t>& pid);

// Leaves the traces of that process alone (several, if it ran several programs, or its number was
// used again); an error that names those there are.
base::Status keepProcess(Traces& traces, uint32_t pid);

}  // namespace tidegauge::cli
