// wss --backend pressure, pmc, shrink: rows of what it costs when memory is short, and what they
// say together.
#pragma once

#include "cli/wss/wss_command.h"

namespace tidegauge::cli {

bool isSurvey(const WssOptions& options);
// 2 with a line if something was asked that they have no place for; else 0.
int checkSurvey(const WssOptions& options);
int runSurvey(const WssOptions& options);

}  // namespace tidegauge::cli
