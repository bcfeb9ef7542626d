// --device, --from and --to, the same on every command that asks about a part of a recording. Where
// --to means something else, the range ends at --until.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "report/words/range_summary.h"

namespace tidegauge::cli {

// Names on standard error the devices that the range means nothing to.
void sayLeftOut(const exporting::Choice& choice);
// That, and which of several annotations of one name the range took. A report holds the latter.
void sayChoice(const exporting::Choice& choice);
void addSelectionOptions(CLI::App& command, exporting::Selection& selection,
                         const std::string& end = "--to");

}  // namespace tidegauge::cli
