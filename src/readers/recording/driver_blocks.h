// Driver memory that the program uses directly: no allocator splits it, so it is a segment and an
// allocation at once, with the same life.
//
//   event      segment_alloc   alloc   …   free_requested   free_completed   segment_free
//   block                      ├───────────────────────────┤
//   piece      ├ ─ ─ ─ ─ ─ ─ ─ ├───────────────────────────┤ ─ ─ ─ ─ ─ ─ ─ ─ ┤
//
// One call of the driver makes several events. In the states between them, the piece would be owned
// but not used: a reserve that such memory never has. So it is owned exactly as long as its block
// lives. (A mapping that is unmapped in part ends as a block, and its remaining parts begin new
// blocks: a gap remains there.) Cost: O(allocations + pieces).
#pragma once

#include <vector>

#include "model/trace.h"

namespace tidegauge::readers::recording {

// Call it once the lives are built. `is_driver_block`, by event: an alloc or free of such memory.
void joinDriverBlocks(model::Trace& trace, const std::vector<bool>& is_driver_block);
// For one device; the first of these bits is that of `first_event`.
void joinDriverBlocksOf(model::Trace& trace, const model::Device& device,
                        const std::vector<bool>& is_driver_block, uint64_t first_event);

}  // namespace tidegauge::readers::recording
