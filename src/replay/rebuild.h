// The allocator's state as a trace tells it: before its first event, or after any of them.
//
// What lived and which segments there were is known to the byte. Not known are: which of two
// segments that are older than the recording came first, how long a block has been free, and, where
// a large block kept up to 1 MiB that was too little to split, whether it did
// (model::kBlockUncertain). Cost: O(allocations of the trace) + O(live log live).
#pragma once

#include <vector>

#include "replay/allocator/allocator.h"
#include "replay/tape.h"

namespace tidegauge::replay {

// After the first `events` of the tape. `allocator` is a fresh one; `blocks` gets the block of each
// name that lives (none: it does not). Segments that `before` knows too keep their order among each
// other. Returns how many live blocks do not lie in a segment that is known, or overlap others:
// they are left out.
uint64_t rebuild(const Tape& tape, model::Step events, const Allocator* before,
                 Allocator& allocator, std::vector<BlockId>& blocks);

// Of a row of the trace's allocations: was it freed before the first event, but not by all streams?
bool waitsAtStart(const Tape& tape, size_t row);

}  // namespace tidegauge::replay
