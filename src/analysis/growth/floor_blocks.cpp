#include "analysis/growth/floor_blocks.h"

#include <algorithm>
#include <optional>

namespace tidegauge::analysis {
namespace {

// Sums are relative to the end of a block, and may be below it.
constexpr uint64_t kAtEnd = uint64_t{1} << 63;

}  // namespace

class BlockMaker {
 public:
  BlockMaker(const model::Trace& trace, const model::Device& device)
      : trace_(trace), device_(device), undone_(trace, device), of_(undone_.stacks()) {
    for (size_t stack = 0; stack < of_.size(); ++stack) undone_.of(stack) = {kAtEnd, kAtEnd};
  }

  FloorBlock make(Step begin, Step end) {
    FloorBlock block;
    block.begin = begin;
    block.end = end;
    block.row_begin = rowAt(begin);
    block.row_end = rowAt(end);
    undoSteps(block);
    countBirths(block);
    std::sort(touched_.begin(), touched_.end());
    write(block);
    return block;
  }

 private:
  struct OfStack {
    uint32_t births = 0;
    uint32_t lows = 0;
    bool is_touched = false;
  };
  struct Fall {
    uint32_t stack;
    FloorBlock::Low low;
  };

  uint64_t rowAt(Step step) const {
    const std::vector<Step>& first = trace_.allocations.first_step;
    return static_cast<uint64_t>(
        std::lower_bound(first.begin() + static_cast<ptrdiff_t>(device_.allocation_begin),
                         first.begin() + static_cast<ptrdiff_t>(device_.allocation_end), step) -
        first.begin());
  }

  void touch(size_t stack) {
    if (of_[stack].is_touched) return;
    of_[stack].is_touched = true;
    touched_.push_back(static_cast<uint32_t>(stack));
  }

  void undoSteps(const FloorBlock& block) {
    undone_.beginAt(block.row_end);
    for (Step end = block.end; end > block.begin;) {
      Step begin = std::max(block.begin, end - std::min(end, StepsUndone::kRun));
      undone_.undo(
          begin, end, [&](size_t stack) { touch(stack); },
          [&](size_t stack, uint64_t row) {
            Step first = trace_.allocations.first_step[row];
            if (first == 0) return;  // no state is before it
            ++of_[stack].lows;
            falls_.push_back(
                {static_cast<uint32_t>(stack), {first - 1, kAtEnd - undone_.of(stack).least}});
          });
      end = begin;
    }
  }

  void countBirths(FloorBlock& block) {
    const model::Allocations& a = trace_.allocations;
    for (uint64_t row = block.row_begin; row < block.row_end; ++row) {
      size_t stack = undone_.indexOf(row);
      touch(stack);
      ++of_[stack].births;
      block.allocated_bytes += countedBytes(a.block_bytes[row]);
    }
  }

  // In the order of stacks, and makes ready for the next block.
  void write(FloorBlock& block) {
    block.stacks.reserve(touched_.size());
    block.lows.resize(falls_.size());
    uint32_t end_low = 0;
    for (uint32_t stack : touched_) {
      OfStack& its = of_[stack];
      uint32_t begin = end_low;
      end_low += its.lows;
      StepsUndone::State& state = undone_.of(stack);
      bool known = stack + 1 < undone_.stacks();
      block.stacks.push_back({.stack = known ? StackId(stack) : StackId(),
                              .births = its.births,
                              .end_low = end_low,
                              .change = state.out - kAtEnd,
                              .below = kAtEnd - state.least});
      state = {kAtEnd, kAtEnd};
      its = {.lows = begin};  // now: where its next one belongs
    }
    for (const Fall& fall : falls_) block.lows[of_[fall.stack].lows++] = fall.low;
    for (uint32_t stack : touched_) of_[stack] = {};
    touched_.clear();
    falls_.clear();
  }

  const model::Trace& trace_;
  const model::Device& device_;
  StepsUndone undone_;
  std::vector<OfStack> of_;
  std::vector<uint32_t> touched_;
  std::vector<Fall> falls_;
};

FloorBlocks::Settled FloorBlocks::made(BlockMaker& maker, const model::Allocations& a,
                                       size_t number) {
  ++computed_;
  auto begin = static_cast<Step>(number) * steps_;
  Settled settled{std::make_shared<const FloorBlock>(maker.make(begin, begin + steps_)), {}};
  for (uint64_t row = settled.block->row_begin; row < settled.block->row_end; ++row)
    if (a.last_step[row] >= settled_)
      settled.open.push_back({static_cast<uint32_t>(row), a.block_bytes[row]});
  return settled;
}

// False: a row has another size. Rows whose end is settled now are not open any more.
bool FloorBlocks::stays(const model::Allocations& a, Settled& block) const {
  for (const Open& it : block.open)
    if (a.block_bytes[it.row] != it.bytes) return false;
  std::erase_if(block.open, [&](const Open& it) { return a.last_step[it.row] < settled_; });
  return true;
}

void FloorBlocks::follow(const model::Trace& trace, const model::Device& device, Step settled) {
  settled_ = settled;
  ordinal_ = device.ordinal;
  std::optional<BlockMaker> maker;
  auto make = [&](size_t number) {
    if (!maker) maker.emplace(trace, device);
    return made(*maker, trace.allocations, number);
  };
  for (size_t i = 0; i < blocks_.size(); ++i)
    if (!stays(trace.allocations, blocks_[i])) blocks_[i] = make(i);
  while (settled / steps_ > blocks_.size()) blocks_.push_back(make(blocks_.size()));
}

std::shared_ptr<const FloorBlocks> followedBlocks(const model::Trace& trace,
                                                  const DeviceAnalysis& device) {
  if (!device.settled_work) return nullptr;
  auto before = std::static_pointer_cast<const FloorBlocks>(device.settled_work->get());
  auto blocks = before ? std::make_shared<FloorBlocks>(*before) : std::make_shared<FloorBlocks>();
  if (!blocks->mayFollow(device.device, device.settled_steps)) {
    if (blocks->settled() > device.settled_steps) return nullptr;
    blocks = std::make_shared<FloorBlocks>();
  }
  blocks->follow(trace, device.device, device.settled_steps);
  device.settled_work->keep(blocks);
  return blocks;
}

size_t FloorBlocks::countBefore(Step end) const {
  return std::min<size_t>(blocks_.size(), end / steps_);
}

unsigned __int128 allocatedBytes(const model::Allocations& a, uint64_t begin, uint64_t end,
                                 const FloorBlocks* blocks) {
  unsigned __int128 sum = 0;
  auto addRows = [&](uint64_t to) {
    constexpr uint64_t kAtOnce = 512;
    for (uint64_t next = begin; begin < to; begin = next) {
      next = std::min(begin + kAtOnce, to);
      uint64_t bytes = 0;
      for (uint64_t row = begin; row < next; ++row)
        bytes += a.has(row, model::kAllocSeen) ? countedBytes(a.block_bytes[row]) : 0;
      sum += bytes;
    }
  };
  for (size_t i = 0; blocks != nullptr && i < blocks->size(); ++i) {
    const FloorBlock& block = blocks->of(i);
    if (block.row_end <= begin || block.row_end > end) continue;
    if (begin > block.row_begin) {
      addRows(block.row_end);
    } else {
      sum += block.allocated_bytes;
      begin = block.row_end;
    }
  }
  addRows(end);
  return sum;
}

uint64_t FloorBlocks::bytes() const {
  uint64_t bytes = 0;
  for (const Settled& it : blocks_)
    bytes += it.block->stacks.capacity() * sizeof(FloorBlock::OfStack) +
             it.block->lows.capacity() * sizeof(FloorBlock::Low) +
             it.open.capacity() * sizeof(Open);
  return bytes;
}

}  // namespace tidegauge::analysis
