// Exact block sizes of the dead: the file names only what was requested, but where the next block
// lay tells what the allocator set aside.
//
//   large segment  [ A: 3 MiB |  free 17 MiB ]   alloc 16.5 MiB at 3 MiB: 0.5 MiB would be left,
//                  [ A        |  B: 17 MiB   ]   too little to split off (≤ 1 MiB): B has it all
//
// Blocks are taken from the front of a free stretch and free neighbours always merge, so the
// stretch reaches from the alloc's address to the next live block or the segment's end. Small pools
// and expandable segments split at 512 bytes: rounding alone is exact there. What stays uncertain:
// blocks older than the recording in large segments (flag kBlockUncertain). Cost: one pass over the
// events of large segments; memory = their live blocks. Source: should_split in
// CUDACachingAllocator.
#pragma once

#include "model/trace.h"

namespace tidegauge::model {

// Replaces rounded block_bytes of the device's rows by exact ones where the layout tells, and marks
// those that it does not tell. To be called once, after the lives are known.
void inferBlocks(Trace& trace, const Device& device);

// How much larger than block_bytes the row's block may be: 0 unless it is uncertain.
uint64_t blockSlackBytes(const Trace& trace, size_t row);

}  // namespace tidegauge::model
