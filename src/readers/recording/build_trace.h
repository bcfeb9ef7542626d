// buildTrace: turns the book of one process's calls into a Trace.
//
//   reserved 2 MiB      segment_alloc                 a segment is memory from the driver,
//   block 4,000         alloc                         an allocation a block of the framework
//   block freed         free_requested, free_completed      inside it
//   reserved 1 GiB      segment_alloc, alloc          without a framework it is both
//
// Device −1 is host memory (pinned, registered). The final state is what was live after the last
// call, ignoring the exit of the process: it shows what was never freed.
// Cost: O(rows of the book), 40 ns each; with a trace book, O(rows that are not settled in it).
#pragma once

#include <vector>

#include "model/lives/lives.h"
#include "model/trace.h"
#include "readers/recording/call_book.h"
#include "readers/recording/tables/recorded_tables.h"
#include "readers/recording/trace_book.h"

namespace tidegauge::readers::recording {

// What the construction of lives needs beside the trace.
struct BesideTrace {
  model::CarriedAllocations carried;  // for buildLives
  // For joinDriverBlocks, once they are built. If a book is kept, without the first device.
  std::vector<bool> is_driver_block;
};

// Does not build the lives. Fills `work` with the ledger's other facts: refused calls, held memory
// and, if requested, the driver's memory with stacks of the trace (`process` has all calls then).
// `kept`: continues with what it has, and keeps what the next reading continues; may be null.
model::Trace buildTrace(const RecordedTables& tables, const RecordedProcess& process,
                        CallBook& book, model::RecordedWork& work, BesideTrace& beside,
                        bool with_driver = false, TraceBook* kept = nullptr);

}  // namespace tidegauge::readers::recording
