// Reconstructs the allocator's state from a trace: before its first event, or after any event.
//
// Live blocks and segments are known to the byte. Unknown are: which of two segments older than the
// recording came first, how long a block has been free, and whether a large block kept a remainder
// of up to 1 MiB, too small to split off (model::kBlockUncertain). Cost: O(allocations of the
// trace) + O(live log live).
#pragma once

#include <vector>

#include "replay/allocator/allocator.h"
#include "replay/tape.h"

namespace tidegauge::replay {

// The state after the first `events` of the tape. `allocator` is a new one; `blocks` receives the
// block of each live name (invalid for others). Segments that `before` contains too keep their
// relative order. Returns the number of live blocks outside known segments or overlapping others:
// they are left out.
uint64_t rebuild(const Tape& tape, model::Step events, const Allocator* before,
                 Allocator& allocator, std::vector<BlockId>& blocks);

// For a row of the trace's allocations: was it freed before the first event, but not by all
// streams?
bool waitsAtStart(const Tape& tape, size_t row);

}  // namespace tidegauge::replay
