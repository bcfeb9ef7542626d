// What the terminal can display.
#pragma once

#include <cstddef>

namespace tidegauge::cli {

// Columns of the terminal on standard output; 0 if it is not one.
size_t terminalColumns();

// The width for report, frag, diff and every --help: the terminal's. If standard output is not a
// terminal: COLUMNS if that is a whole number from 40 to 400, else 100.
size_t pageColumns();
// That rule alone: `terminal` as terminalColumns(), `variable` as COLUMNS, or null.
size_t pageColumns(size_t terminal, const char* variable);

// Bold and similar: on a terminal that is not TERM=dumb, unless NO_COLOR is set
// (https://no-color.org).
bool usesColours();

// Whether progress can be shown: one line on standard error, overwritten.
bool showsProgress();

}  // namespace tidegauge::cli
