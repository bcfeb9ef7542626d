// Issues of a recording as a whole: what it lacks, and why.
//
//   no event of 12 has a stack          → no_stacks (context=None)
//   only pinned host memory has events  → no_device_history (record_cuda=False)
//
// Cost: O(events) over the column of stacks.
#pragma once

#include "model/trace.h"

namespace tidegauge::model {

// Issues of this kind are explained by kinds of events that are missing.
bool isExplained(ActionSet missing, IssueKind kind);
// device.missing and device.gaps.
void noteMissing(Trace& trace, const Device& device);
// A full ring buffer.
void noteOverflow(Trace& trace);
// For snapshots: missing stacks, devices without history.
void noteHistory(Trace& trace);

}  // namespace tidegauge::model
