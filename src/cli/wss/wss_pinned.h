// wss --with FILE: the host memory of a process that is pinned for devices, out of a snapshot's
// host segments or a recording's calls (cudaHostAlloc, cuMemHostRegister …), marked in what `wss`
// reports.
#pragma once

#include "cli/wss/wss_command.h"
#include "wss/choice/choose.h"

namespace tidegauge::cli {

// 2 with a line if something was asked that has no place for it; else 0.
int checkPinned(const WssOptions& options);
// Reads the file, if one was given, and has the back-end mark what it says. Else the exit code,
// with a line said.
int markPinned(const WssOptions& options, wss::Choice& choice);

}  // namespace tidegauge::cli
