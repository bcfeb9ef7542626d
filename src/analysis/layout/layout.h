// The inside of every segment after a step: blocks in address order, and the free parts between
// them.
//
//   segment s7f…   [ active_allocated | inactive | active_pending_free | inactive ]
//
// Reconstructed from the lives; O(live + pieces). trace.final_blocks has the same from the file's
// final state. A test requires that both agree at the end.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/trace/live_set.h"
#include "model/trace.h"

namespace tidegauge::analysis {

struct LayoutBlock {
  model::SegmentId segment;  // invalid: outside every known segment
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  uint64_t requested_bytes = 0;  // 0 for free parts
  model::BlockState state = model::BlockState::kInactive;
  AllocationId allocation{};  // invalid for free parts
  StackId stack{};
};

// By address. `step` as in LiveIndex::liveAt.
std::vector<LayoutBlock> blocksAt(const model::Trace& trace, const model::Device& device,
                                  const LiveIndex& live, Step step);

}  // namespace tidegauge::analysis
