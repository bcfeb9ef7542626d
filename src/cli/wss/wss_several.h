// wss of several processes: several numbers, --children, --comm, --cgroup.
#pragma once

#include "cli/wss/wss_command.h"
#include "wss/measure/measure.h"

namespace tidegauge::cli {

// Whether it is of several, by the way it was asked.
bool isOfSeveral(const WssOptions& options);
// 2 with a line if something was asked that is for one process alone; else 0.
int checkSeveral(const WssOptions& options);
int runSeveral(const WssOptions& options, const wss::Plan& plan);

}  // namespace tidegauge::cli
