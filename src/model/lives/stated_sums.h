// Sums stated in the file, against sums of the lives. A difference is a contradiction in the file;
// it becomes an issue and is shown.
//
//   a final segment's total, allocated, active, requested    against the blocks inside it
//   live at the end of the trace                             against the final active blocks
//   a snapshot event: active bytes of the device             against the blocks live at that step
//
// Cost: O(blocks), O(allocations × log snapshot events).
#pragma once

#include <cstdint>
#include <vector>

#include "model/trace.h"

namespace tidegauge::model {

// The difference between the totals of a row of final_segments and its blocks, summed; 0 = equal.
uint64_t segmentDifferenceBytes(const Trace& trace, uint64_t row);

// Active blocks (allocated or pending) of the device's final state.
uint64_t finalActiveBytes(const Trace& trace, const Device& device);

struct Checksum {
  Step step = 0;
  uint64_t stated_bytes = 0;  // by the snapshot event
  uint64_t live_bytes = 0;    // by the lives, after that step
  uint64_t slack_bytes = 0;   // how much larger blocks of uncertain size may be
  // 0 if the uncertain blocks explain the stated bytes.
  uint64_t differenceBytes() const;
};
// One per snapshot event of the device, in order.
std::vector<Checksum> snapshotChecksums(const Trace& trace, const Device& device);

// Adds kFinalTotalsDiffer, kFinalLiveDiffers and kSnapshotChecksum. Call it once, when lives and
// block sizes are known.
void noteContradictions(Trace& trace, const Device& device);

}  // namespace tidegauge::model
