// --device, --from and --to, the same on every command that asks about a part of a recording.
#pragma once

#include <CLI/CLI.hpp>

#include "export/range_summary.h"

namespace tidegauge::cli {

// Names on standard error the devices that the range means nothing to.
void sayAbsent(const exporting::Choice& choice);
void addSelectionOptions(CLI::App& command, exporting::Selection& selection);

}  // namespace tidegauge::cli
