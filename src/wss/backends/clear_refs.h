// clear_refs: takes the accessed bit from every page of a process, and what a processor has cached
// of them (flush.h).
//
// Cost, measured: 45 ns per page, during which the process cannot map or unmap memory.
#pragma once

#include "wss/backends/backend.h"
#include "wss/backends/flush.h"

namespace tidegauge::wss {

base::Result<Clearing> clearReferences(const Process& process, Flush flush, Clock& clock);

// The same of files and shared memory alone, without a flush.
base::Result<Clearing> clearFiles(const Process& process, Clock& clock);

// Flushes the TLB of a process, where Flush is kFree.
base::Result<Clearing> flushTlb(const Process& process, Clock& clock);

// Takes from every page that it was written to, where the kernel marks that; the same word, 4.
base::Result<Clearing> clearWrites(const Process& process, Clock& clock);

// What is missed if it cannot flush; empty if it can.
std::vector<std::string> limitsOfFlush(Flush flush);

}  // namespace tidegauge::wss
