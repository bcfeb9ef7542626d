// wss -o FILE keeps a measurement as it comes; wss FILE prints it again.
//
//   tidegauge wss --rolling 8 -o mysqld.jsonl 4711 0.1
//   tidegauge wss mysqld.jsonl
#pragma once

#include "cli/wss/wss_command.h"

namespace tidegauge::cli {

// Whether the only word names a file and no process.
bool isWssFile(const WssOptions& options);
// What does not go with it; the exit code.
int checkWssFile(const WssOptions& options);
int runWssFile(const WssOptions& options);
// Of -o: what does not go with it, a file that is there already; the exit code.
int checkOutput(const WssOptions& options);

}  // namespace tidegauge::cli
