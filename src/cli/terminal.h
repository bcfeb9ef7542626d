// What the terminal can show.
#pragma once

#include <cstddef>

namespace tidegauge::cli {

// Columns of the terminal that standard output is; 0 if it is none.
size_t terminalColumns();

// Bold and the like: on a terminal that is not TERM=dumb, unless NO_COLOR is set
// (https://no-color.org).
bool usesColours();

// A line on standard error that is written over, for progress.
bool showsProgress();

}  // namespace tidegauge::cli
