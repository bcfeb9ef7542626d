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

#include <cstdint>
#include <vector>

#include "model/trace.h"

namespace tidegauge::model {

// It was there before the first event, and where it came from is known: of a part of a recording.
struct CarriedAllocation {
  int32_t device = 0;
  uint64_t address = 0;
  StackId stack;
  friend bool operator<(const CarriedAllocation& a, const CarriedAllocation& b) {
    return a.device != b.device ? a.device < b.device : a.address < b.address;
  }
};
using CarriedAllocations = std::vector<CarriedAllocation>;  // by device and address

// An event that ends one of `carried` is no gap, and the allocation has its own stack.
void buildLives(Trace& trace, const CarriedAllocations& carried = {});

}  // namespace tidegauge::model
