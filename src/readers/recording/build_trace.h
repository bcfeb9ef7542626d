// buildTrace: the calls of one process, through the ledger, to a Trace.
//
//   reserved 2 MiB      segment_alloc                 a segment is what the driver handed out,
//   block 4,000         alloc                         an allocation what the framework handed out
//   block freed         free_requested, free_completed      inside it
//   reserved 1 GiB      segment_alloc, alloc          no framework in it: it is both
//
// Device −1 is host memory (pinned, registered). What is live after the last call is the final
// state, the exit of the process left aside: it shows what was never freed.
// Cost: O(calls × log live); about 60 bytes per event while it is built.
#pragma once

#include <vector>

#include "model/lives/lives.h"
#include "model/trace.h"
#include "readers/recording/tables/recorded_tables.h"

namespace tidegauge::readers::recording {

// What the lives want beside the trace.
struct BesideTrace {
  model::CarriedAllocations carried;  // for buildLives
  std::vector<bool> is_driver_block;  // for joinDriverBlocks, once they are built
};

// Lives are not built yet. `work` gets what the ledger tells beside the trace: what was refused,
// what is held; and, if it is wanted, what the driver handed out, with stacks of the trace.
model::Trace buildTrace(const RecordedTables& tables, const RecordedProcess& process,
                        model::RecordedWork& work, BesideTrace& beside, bool with_driver = false);

}  // namespace tidegauge::readers::recording
