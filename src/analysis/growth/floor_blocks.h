// FloorBlocks: what settled events of a recording that grows did to the outstanding bytes of each
// stack, so that the next reading need not walk through them again.
//
//   events   ├ block 0 ┤├ block 1 ┤├ block 2 ┤· · newer · ·      points move with each reading,
//   points       ●      ●         ●      ●       ●      ●        blocks stay as they are
//
//   a stack in a block, from its end back   ▂▅▃▆▄▇▅█▆    change: begin − end    lows: ▆ ▄ ▃ ▂
//
// The lows are the states below all later ones of the block; bytes are relative to its end. So a
// point inside of a block needs no walk through its events.
//
// A block whose end is not settled may still turn out larger or smaller. Each block of steps knows
// such rows that began in it, and is computed again if one has changed.
//
// Cost: 11 ns per new event, O(live rows) per reading. Memory: per block 32 bytes for each of its
// stacks and 16 per low: 1.5 bytes per event, if 2,000 stacks take turns at random.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/growth/steps_undone.h"
#include "analysis/trace/analysed_trace.h"
#include "model/trace.h"

namespace tidegauge::analysis {

struct FloorBlock {
  struct OfStack {
    StackId stack;  // invalid: no stack recorded
    uint32_t births = 0;
    uint32_t end_low = 0;  // after its last one
    uint64_t change = 0;   // out at the begin − out at the end; a loss of x is 2^64 − x
    uint64_t below = 0;    // that of its last low; 0: it has none
  };
  struct Low {
    Step step = 0;  // the state after it
    uint64_t below = 0;
  };
  Step begin = 0, end = 0;
  uint64_t row_begin = 0, row_end = 0;  // those that began in it
  std::vector<OfStack> stacks;
  std::vector<Low> lows;                  // by stack, steps descend
  unsigned __int128 allocated_bytes = 0;  // of the rows that began in it
};

// A block of memory counts as at most 2^54 bytes, so that sums of thousands are integers.
inline uint64_t countedBytes(uint64_t block_bytes) {
  return std::min(block_bytes, uint64_t{1} << 54);
}

class BlockMaker;

class FloorBlocks {
 public:
  static constexpr Step kSteps = Step{1} << 16;

  explicit FloorBlocks(Step steps_of_block = kSteps) : steps_(steps_of_block) {}

  // `settled`: the Continuation's steps of the trace.
  void follow(const model::Trace& trace, const model::Device& device, Step settled);
  // False: that is another device, or an older reading than the last one.
  bool mayFollow(const model::Device& device, Step settled) const {
    return (settled_ == 0 || device.ordinal == ordinal_) && settled >= settled_;
  }
  Step settled() const { return settled_; }

  // Blocks with all of their steps before `end`.
  size_t countBefore(Step end) const;
  size_t size() const { return blocks_.size(); }
  const FloorBlock& of(size_t number) const { return *blocks_[number].block; }
  uint64_t bytes() const;
  // How many blocks were computed so far, for tests.
  uint64_t computed() const { return computed_; }

 private:
  struct Open {  // a row whose end was not settled
    uint32_t row = 0;
    uint64_t bytes = 0;
  };
  // Blocks do not change, so readings share them.
  struct Settled {
    std::shared_ptr<const FloorBlock> block;
    std::vector<Open> open;  // of the rows that began in it
  };
  Settled made(BlockMaker& maker, const model::Allocations& a, size_t number);
  bool stays(const model::Allocations& a, Settled& block) const;

  Step steps_;
  Step settled_ = 0;  // of the last reading
  int32_t ordinal_ = 0;
  std::vector<Settled> blocks_;
  uint64_t computed_ = 0;
};

// Those of the reading before, or of none, with what is settled since. Null: the trace does not
// continue another one, so nothing would be kept; or the blocks are of a newer reading.
std::shared_ptr<const FloorBlocks> followedBlocks(const model::Trace& trace,
                                                  const DeviceAnalysis& device);

// What rows [begin, end) of the device allocated. `blocks` of a trace that is continued, or null.
unsigned __int128 allocatedBytes(const model::Allocations& a, uint64_t begin, uint64_t end,
                                 const FloorBlocks* blocks);

}  // namespace tidegauge::analysis
