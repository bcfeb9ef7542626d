// Exact sizes of freed blocks: the file contains only requested sizes, but the position of the next
// block shows the size of the block.
//
//   large segment  [ A: 3 MiB |  free 17 MiB ]   alloc 16.5 MiB at 3 MiB would leave 0.5 MiB,
//                  [ A        |  B: 17 MiB   ]   too little to split off (≤ 1 MiB): B has it all
//
// Blocks are taken from the front of a free range, and free neighbours always merge, so the range
// reaches from the alloc's address to the next live block or the segment's end. Small pools and
// expandable segments split at 512 bytes, so rounding alone is exact there. Uncertain: blocks older
// than the recording in large segments (flag kBlockUncertain). Cost: one pass over the events of
// large segments; memory = their live blocks. Source: should_split in CUDACachingAllocator.
#pragma once

#include "model/trace.h"

namespace tidegauge::model {

// Replaces the rounded block_bytes of the device's rows by exact ones where the layout shows them,
// and marks the others. Call it once, after the lives are known.
void inferBlocks(Trace& trace, const Device& device);

// How much larger than block_bytes the row's block may be: 0 unless it is uncertain.
uint64_t blockSlackBytes(const Trace& trace, size_t row);

}  // namespace tidegauge::model
