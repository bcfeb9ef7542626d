// --device, --from and --to, the same on every command that asks about a part of a recording.
#pragma once

#include <CLI/CLI.hpp>

#include "export/range_summary.h"

namespace tidegauge::cli {

void addSelectionOptions(CLI::App& command, exporting::Selection& selection);

}  // namespace tidegauge::cli
