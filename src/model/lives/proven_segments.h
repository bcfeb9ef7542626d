// Segments of a recording without segment_alloc events: what blocks, segment_free events and the
// final state prove. A lower bound of reserved memory that is never below active memory.
//
//   block x [0,8) steps 3…9     segment_free [0,16) at step 12     →  segment [0,16)  3 → 12
//   block y [32,40) steps 5…7   no event names its segment         →  "unknown" [32,40)  5 → 7
//   final segment [64,80), whose first block began at step 4       →  segment [64,80)  4 → end
//
// Cost: O((events + blocks) × log blocks).
#pragma once

#include "model/trace.h"

namespace tidegauge::model {

// After the device's allocations are known: appends its rows to trace.segments and trace.pieces,
// sets what buildPieceLives sets, and the allocations' segments.
void drawProvenSegments(Trace& trace, Device& device);

}  // namespace tidegauge::model
