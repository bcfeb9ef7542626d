// buildLives: from raw events and the final state to lives of allocations and segments.
//
//   events (forward)                   final state
//   free x          → x existed before → before_recording
//   alloc y … free  → traced
//   alloc z                        z is there → traced, live to the end
//                                  w is there → ghost
//   alloc v at y's live address        → y is lost
//
// Input: a Trace whose events, stacks, devices (event and final-segment ranges), final_segments and
// final_blocks are filled. Output: allocations, segments, pieces, events.subject, the devices'
// other ranges, and issues. Cost: O(events), one hash lookup each.
#pragma once

#include "model/trace.h"

namespace tidegauge::model {

void buildLives(Trace& trace);

}  // namespace tidegauge::model
