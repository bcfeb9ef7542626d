// buildLives: from raw events and the final state to lives of allocations and segments.
//
//   events (forward)                   final state
//   free x          → x existed before → before_recording
//   alloc y … free  → traced
//   alloc z                        has z   → traced, live to the end
//                                  has w   → ghost
//   alloc v at y's live address        → y is lost
//
// Input: a Trace whose events, stacks, devices (event and final-segment ranges), final_segments and
// final_blocks are filled. Output: allocations, segments, pieces, events.subject, the devices'
// other ranges, and issues. Cost: O(events), one hash lookup each.
#pragma once

#include "model/lives/blocks/block_lives.h"
#include "model/lives/started_lives.h"
#include "model/trace.h"

namespace tidegauge::model {

// An event that ends one of `carried` is not a gap, and the allocation keeps its stack.
// `started`: devices whose events were joined while they were read; what does not fit is dropped.
void buildLives(Trace& trace, const CarriedAllocations& carried = {}, StartedDevices started = {});

// For one device alone: after those before it, with events.subject as long as the events, and
// without rows of final_segments and final_blocks that name lives.
void buildLivesOf(Trace& trace, Device& device, const CarriedAllocations& carried);

// Instead of buildLives(), for who asks for events alone: drops the final state, whose rows name
// their lives.
void keepEventsAlone(Trace& trace);

}  // namespace tidegauge::model
