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

#include "model/lives.h"
#include "model/trace.h"
#include "readers/recording/recorded_tables.h"

namespace tidegauge::readers::recording {

// Lives are not built yet: they want `carried`. `work` gets what the ledger tells beside the trace: what was refused, what is
// held; and, if it is wanted, what the driver handed out, with stacks of the trace.
model::Trace buildTrace(const RecordedTables& tables, const RecordedProcess& process,
                        model::RecordedWork& work, model::CarriedAllocations& carried,
                        bool with_driver = false);

// To be called once the lives are built: a block of the driver is as large as was asked for, not
// rounded as a framework's.
void setDriverBlockSizes(model::Trace& trace);

}  // namespace tidegauge::readers::recording
