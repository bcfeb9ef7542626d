// --rolling of `wss`: which options it takes, and the picture of --plot.
#pragma once

#include <memory>
#include <string>

#include "cli/wss/wss_command.h"
#include "wss/output/rolling_windows.h"

namespace tidegauge::cli {

// The exit code of a wish that cannot be: no such kind of picture, a file that is there already; or
// 0.
int checkRolling(const WssOptions& options);

// nullptr: it was not asked for.
std::unique_ptr<wss::RollingWindows> rollingOf(const WssOptions& options, const wss::Plan& plan);

// The picture, if one was asked for; the exit code.
int writeHeatPlot(const WssOptions& options, const wss::RollingWindows& rolling,
                  const std::string& title);

}  // namespace tidegauge::cli
