// Which memory of a process is pinned for devices, out of a snapshot's host segments or a
// recording's calls (cudaHostAlloc, cuMemHostRegister …).
//
//   trace of process 4711   pinned host 0x7f00 2 MiB  ─►  a mark at 0x7f00, "pinned host memory"
#pragma once

#include <sys/types.h>

#include <vector>

#include "model/trace.h"
#include "wss/pages/marks.h"

namespace tidegauge::wss {

// Whether it is of that process; of a snapshot, which does not name its process, always.
bool isOfProcess(const model::Trace& trace, pid_t pid);

// Adds what the trace says is pinned.
void addPinned(std::vector<Mark>& marks, const model::Trace& trace);

}  // namespace tidegauge::wss
