// clear_refs: clears the accessed bit of every page of a process, and flushes what processors have
// cached of them (flush.h).
//
// Cost, measured: 45 ns per page, during which the process cannot map or unmap memory.
#pragma once

#include "wss/backends/backend.h"
#include "wss/backends/flush.h"

namespace tidegauge::wss {

base::Result<Clearing> clearReferences(const Process& process, Flush flush, Clock& clock);

// The same for files and shared memory only, without a flush.
base::Result<Clearing> clearFiles(const Process& process, Clock& clock);

// Flushes the TLB of a process; Clearing::is_flushed says whether that was possible.
base::Result<Clearing> flushTlb(const Process& process, Flush flush, Clock& clock);

// Adds a flush to a clearing that has just ended.
void add(Clearing& done, const Clearing& flush);

// Clears the written mark of every page, if the kernel has one; the same word, 4.
base::Result<Clearing> clearWrites(const Process& process, Clock& clock);

}  // namespace tidegauge::wss
