// The layout at one step after another: the live blocks and the owned ranges of a device, both by
// address, carried forward in time.
//
//   step 100   [a][b]   [c]        advanceTo(200): births and deaths in between are merged into
//   step 200   [a]   [d][c][e]     the sorted list; short lives in between leave no trace
//
// It gives the same as blocksAt() of layout.h at each step, at the cost of the changes: O(live +
// births) per move, no search. Memory: 32 bytes per live block, twice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/trace/live_set.h"
#include "model/trace.h"

namespace tidegauge::analysis {

struct LiveBlock {
  uint64_t address = 0;
  uint64_t block_bytes = 0;
  uint64_t requested_bytes = 0;
  uint32_t row = 0;  // of trace.allocations
  Step last_step = 0;
};

// Touching pieces of one segment are one range: a block may lie across them.
struct OwnedNow {
  uint64_t begin = 0;
  uint64_t end = 0;
  model::SegmentId segment;
};

class LayoutCursor {
 public:
  LayoutCursor(const model::Trace& trace, const model::Device& device, const LiveIndex& live);

  // Moves to the state after `step`; steps must ascend.
  void advanceTo(Step step);

  std::span<const LiveBlock> blocks() const { return blocks_; }
  std::span<const OwnedNow> owned() const { return owned_; }

 private:
  struct Piece {
    uint64_t begin = 0;
    uint64_t end = 0;
    model::SegmentId segment;
    Step last_step = 0;
  };
  LiveBlock blockOf(uint32_t row) const;
  void start(Step step);
  void moveBlocks(Step step);
  void movePieces(Step step);
  void join();

  const model::Trace& trace_;
  const model::Device& device_;
  const LiveIndex& live_;
  bool started_ = false;
  Step step_ = 0;
  std::vector<LiveBlock> blocks_, born_, merged_;
  std::vector<uint32_t> piece_order_;  // by first_step
  size_t next_piece_ = 0;
  Step next_piece_end_ = 0;  // no live piece ends before it
  std::vector<Piece> pieces_;
  std::vector<OwnedNow> owned_;
};

// The inside of the owned ranges that `takes(range)` accepts, by address:
//
//   on_block(range, block, covered)    the bytes that no earlier block covers: in contradictory
//                                      files blocks overlap
//   on_hole(range, begin, end)         a part that no block covers
//
// Returns the number of blocks that lie in none of these ranges.
template <class Takes, class OnBlock, class OnHole>
uint64_t walkOwned(const LayoutCursor& cursor, Takes&& takes, OnBlock&& on_block,
                   OnHole&& on_hole) {
  std::span<const LiveBlock> blocks = cursor.blocks();
  size_t next = 0;
  uint64_t outside = 0;
  for (const OwnedNow& range : cursor.owned()) {
    if (!takes(range)) continue;
    for (; next < blocks.size() && blocks[next].address < range.begin; ++next) ++outside;
    uint64_t at = range.begin;  // filled up to here
    for (; next < blocks.size() && blocks[next].address < range.end; ++next) {
      const LiveBlock& block = blocks[next];
      if (block.address > at) on_hole(range, at, block.address);
      uint64_t end = block.address + std::min(block.block_bytes, range.end - block.address);
      uint64_t covered = end > at ? end - std::max(at, block.address) : 0;
      at = std::max(at, end);
      on_block(range, block, covered);
    }
    if (range.end > at) on_hole(range, at, range.end);
  }
  return outside + (blocks.size() - next);
}

}  // namespace tidegauge::analysis
