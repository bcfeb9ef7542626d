// joinTensors: which block a tensor lies in, by its address and the time when it was named.
//
//   block a  0x1000 ├────────────┤                 tensor "x" at 0x1040, named at time 3 → a
//   block b  0x1000                  ├─────────►   tensor "y" at 0x1000, named at time 9 → b
//   time            1  2  3  4  5    6  7  8  9
//
// The time is that of the latest event so far, as on the time axis. A time after the last event
// means the end of the trace, and so does no time, of the tensor or of all events. A time before
// the first event finds nothing: the block that was there may have gone before the recording, and
// another may have taken its place.
//
// Live blocks overlap only where a file contradicts itself. Then, of those that hold any named
// address and begin at or below this one, the last counts (by address, birth and row), if it holds
// this address.
//
// Call it once the lives are built. Does nothing without tensors. Cost: a pass over the events'
// times, a pass over the allocations with two binary searches each, and a sort of those that hold a
// named address when something was named.
#pragma once

#include "model/trace.h"

namespace tidegauge::model {

// Fills Tensors::allocation and by_allocation; notes tensors without a block as an issue.
void joinTensors(Trace& trace);

}  // namespace tidegauge::model
