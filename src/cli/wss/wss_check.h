// Whether the options of `wss` go together, before anything is opened.
#pragma once

#include "cli/wss/wss_command.h"

namespace tidegauge::cli {

// The longest window or pause: clocks here count no further.
inline constexpr double kMaxWssSeconds = 1e9;

// 0, or 2 with a line that says what does not. Words become processes and a window length, and
// --writes becomes its back-end.
int checkWss(WssOptions& options);

}  // namespace tidegauge::cli
