// The blocks and free parts of each segment alone, for questions about a segment: is it empty, what
// pins it, which of its free parts is the largest?
//
//   by address   s1 [a][ ]   s2 [b]   s1 [c][ ]        the reservation s1 has a hole, s2 lies in it
//   contents     s1 [a][ ][c][ ]   s2 [b]
//
// Cost: one pass over the blocks and a sorted copy of them.
#pragma once

#include <span>
#include <vector>

#include "analysis/layout/layout.h"

namespace tidegauge::analysis {

// The parts of one segment, by address. Invalid segment: blocks outside every known segment.
struct SegmentContents {
  model::SegmentId segment;
  std::span<const LayoutBlock> blocks;

  // The part of block i inside the segment and before the next block: in contradictory files a
  // block may overlap its neighbour.
  uint64_t bytesOf(size_t i) const;
};

inline bool isLive(const LayoutBlock& block) { return block.state != model::BlockState::kInactive; }
bool isExpandable(const model::Trace& trace, model::SegmentId segment);
// The pool of a segment. Segments without a recorded pool are taken for the default pool, as in
// PyTorch's viewer.
model::PoolId poolOf(const model::Trace& trace, model::SegmentId segment);
// In a pool of a CUDA graph or a MemPool: only requests of that pool may use its free memory.
bool isPrivate(const model::Trace& trace, model::SegmentId segment);

// Owns the blocks; segments in the order of their first block's address.
class SegmentedLayout {
 public:
  // `blocks` from blocksAt.
  explicit SegmentedLayout(const std::vector<LayoutBlock>& blocks);
  SegmentedLayout(SegmentedLayout&&) = default;
  SegmentedLayout& operator=(SegmentedLayout&&) = default;
  SegmentedLayout(const SegmentedLayout&) = delete;
  SegmentedLayout& operator=(const SegmentedLayout&) = delete;

  const std::vector<SegmentContents>& segments() const { return segments_; }
  std::span<const LayoutBlock> blocks() const { return blocks_; }  // by segment, then by address

 private:
  std::vector<LayoutBlock> blocks_;
  std::vector<SegmentContents> segments_;
};

}  // namespace tidegauge::analysis
