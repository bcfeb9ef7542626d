// --device, --from and --to, the same on every command that takes a part of a recording. If --to
// has another meaning, the range ends at --until.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "report/words/range_summary.h"

namespace tidegauge::cli {

// Reports on standard error the devices without events in the range.
void sayLeftOut(const report::Choice& choice);
// The same, and which of several annotations of one name the range used. A report contains the
// latter.
void sayChoice(const report::Choice& choice);
void addSelectionOptions(CLI::App& command, report::Selection& selection,
                         const std::string& end = "--to");

}  // namespace tidegauge::cli
