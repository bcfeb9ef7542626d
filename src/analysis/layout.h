// The inside of every segment after a step: blocks in address order and the free parts between
// them.
//
//   segment s7f…   [ active_allocated | inactive | active_pending_free | inactive ]
//
// Reconstructed from the lives; O(live + pieces). The same, from the file's own last word, is
// trace.final_blocks; a test demands that both agree at the end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/live_set.h"
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

struct FreeParts {
  uint64_t bytes = 0;
  uint64_t count = 0;
  uint64_t largest_bytes = 0;
  uint64_t pinned_segments = 0;  // segments that hold pinned bytes
  uint64_t pinned_bytes = 0;  // a live block in the segment (or page) keeps it from being returned
  uint64_t releasable_bytes = 0;  // whole segments without a live block, whole free pages
};
// Ordinary segments go back to the driver whole; expandable ones page by page (2 MiB in small
// pools, 20 MiB in large ones unless the settings say otherwise, counted from the segment's
// address). `blocks` of one segment, or of segments that do not lie inside each other.
FreeParts freeParts(const model::Trace& trace, std::span<const LayoutBlock> blocks);
// The page by which an expandable segment is given back.
uint64_t pageBytes(const model::Trace& trace, model::SegmentId segment);
// Bytes of the whole pages inside [offset, offset + size), counted from the segment's address.
uint64_t wholePageBytes(uint64_t offset, uint64_t size_bytes, uint64_t page);

}  // namespace tidegauge::analysis
