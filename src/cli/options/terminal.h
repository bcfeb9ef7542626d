// What the terminal can show.
#pragma once

#include <cstddef>

namespace tidegauge::cli {

// Columns of the terminal that standard output is; 0 if it is none.
size_t terminalColumns();

// How wide report, frag, diff and every --help may be: as the terminal; where standard output is
// none, as COLUMNS says if that is a whole number from 40 to 400, else 100.
size_t pageColumns();
// Of these, what they rest on: `terminal` as terminalColumns(), `variable` as COLUMNS, or null.
size_t pageColumns(size_t terminal, const char* variable);

// Bold and the like: on a terminal that is not TERM=dumb, unless NO_COLOR is set
// (https://no-color.org).
bool usesColours();

// A line on standard error that is written over, for progress.
bool showsProgress();

}  // namespace tidegauge::cli
