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

#include <cstdint>
#include <vector>

#include "model/trace.h"

namespace tidegauge::model {

// Memory from before the first event whose origin is known, since it is in an earlier part.
struct CarriedAllocation {
  int32_t device = 0;
  uint64_t address = 0;
  StackId stack;
  friend bool operator<(const CarriedAllocation& a, const CarriedAllocation& b) {
    return a.device != b.device ? a.device < b.device : a.address < b.address;
  }
};
using CarriedAllocations = std::vector<CarriedAllocation>;  // by device and address

// An event that ends one of `carried` is not a gap, and the allocation keeps its stack.
void buildLives(Trace& trace, const CarriedAllocations& carried = {});

// Instead of buildLives(), for who asks for events alone: drops the final state, whose rows name
// their lives.
void keepEventsAlone(Trace& trace);

}  // namespace tidegauge::model
