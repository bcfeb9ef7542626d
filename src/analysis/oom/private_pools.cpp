#include "analysis/oom/private_pools.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/layout/free_sums.h"

namespace tidegauge::analysis {

std::vector<PoolShare> privatePools(const model::Trace& trace, const SegmentedLayout& layout) {
  struct Held {
    PoolShare share;
    std::map<uint32_t, uint64_t> by_stack;
  };
  std::map<uint16_t, Held> held;
  for (const SegmentContents& contents : layout.segments()) {
    if (!contents.segment.valid() || !isPrivate(trace, contents.segment)) continue;
    model::PoolId pool = poolOf(trace, contents.segment);
    Held& of = held[pool.value];
    PoolShare& share = of.share;
    share.pool = pool;
    share.segments++;
    share.whole_bytes += freeSums(trace, contents.blocks).held_in_pools_bytes;
    for (size_t i = 0; i < contents.blocks.size(); ++i) {
      const LayoutBlock& block = contents.blocks[i];
      uint64_t bytes = contents.bytesOf(i);
      if (!isLive(block)) {
        share.free_bytes += bytes;
        share.free_ranges++;
        continue;
      }
      share.live_bytes += bytes;
      share.live_blocks++;
      if (block.stack.valid()) of.by_stack[block.stack.value] += bytes;
    }
  }
  std::vector<PoolShare> shares;
  for (auto& [pool, of] : held) {
    for (const auto& [stack, bytes] : of.by_stack) {
      of.share.by_stack.emplace_back(StackId(stack), bytes);
      if (bytes <= of.share.stack_bytes) continue;
      of.share.stack = StackId(stack);
      of.share.stack_bytes = bytes;
    }
    shares.push_back(of.share);
  }
  std::ranges::stable_sort(shares, [](const PoolShare& a, const PoolShare& b) {
    return a.reservedBytes() > b.reservedBytes();
  });
  return shares;
}

bool mayHaveOwnAllocator(const model::Trace& trace, model::PoolId pool) {
  if (!pool.valid() || pool.index() >= trace.pools.size()) return false;
  const model::Pool& named = trace.pools[pool.index()];
  return named.first == 0 && named.second != 0;
}

bool mayHaveOwnAllocators(const model::Trace& trace) {
  for (size_t i = 0; i < trace.pools.size(); ++i)
    if (mayHaveOwnAllocator(trace, model::PoolId(static_cast<uint16_t>(i)))) return true;
  return false;
}

uint64_t bytesInOwnAllocators(const model::Trace& trace, const std::vector<PoolShare>& pools,
                              StackId stack) {
  uint64_t sum = 0;
  for (const PoolShare& share : pools) {
    if (!mayHaveOwnAllocator(trace, share.pool)) continue;
    for (const auto& [holder, bytes] : share.by_stack)
      if (holder == stack) sum += bytes;
  }
  return sum;
}

}  // namespace tidegauge::analysis
