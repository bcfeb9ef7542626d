// Memory that was not touched in a window: it could be freed, swapped out or left out of a limit.
//
//   1.2 GiB of 2.0 GiB in memory were not touched in 60 s: 900 MiB of anonymous 0x7f12a0000000,
//   310 MiB of libtorch_cuda.so.
#pragma once

#include <string>

#include "wss/measure/measure.h"

namespace tidegauge::wss {

// Files and anonymous mappings, most untouched first. Empty: the window is too short to judge
// (under a second), too little is cold to matter, touches may be missing, or the process did not
// run.
std::string coldText(const Row& row, size_t columns);

}  // namespace tidegauge::wss
