// The private pools at a moment (of CUDA graphs and MemPools): what each holds, and who lives in
// it.
//
//   graph pool 3   live 0, free 600 MiB in 2 whole segments    only requests of pool 3 can use them
//   MemPool 1      live 1.2 GiB, free 1.2 GiB
//
// Before a request fails, the allocator returns whole free segments of the default pool and of
// pools that nobody uses any more. So a whole free segment of a private pool at an out-of-memory
// event shows that the pool is in use. Cost: O(live + pieces). Source: CUDACachingAllocator
// release_cached_blocks, get_pool.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/layout/segment_contents.h"
#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

struct PoolShare {
  model::PoolId pool;
  uint64_t live_bytes = 0;   // of blocks inside its segments
  uint64_t free_bytes = 0;   // inside its segments
  uint64_t whole_bytes = 0;  // of these, in whole free segments and pages
  uint64_t live_blocks = 0;
  uint64_t free_ranges = 0;
  uint64_t segments = 0;
  StackId stack{};  // holds most of the live bytes; invalid: nothing lives, or no stack is known
  uint64_t stack_bytes = 0;
  std::vector<std::pair<StackId, uint64_t>> by_stack{};  // live bytes of each stack, by its number
  uint64_t reservedBytes() const { return live_bytes + free_bytes; }
};

// Most reserved bytes first; ties by pool.
std::vector<PoolShare> privatePools(const model::Trace& trace, const SegmentedLayout& layout);

// A MemPool, and not the pool of a graph: it may have an allocator of its own, which can unmap its
// memory while PyTorch still counts it (vLLM's sleep mode).
bool mayHaveOwnAllocator(const model::Trace& trace, model::PoolId pool);
bool mayHaveOwnAllocators(const model::Trace& trace);  // any of its pools
// Of the live bytes of a stack, those in such pools.
uint64_t bytesInOwnAllocators(const model::Trace& trace, const std::vector<PoolShare>& pools,
                              StackId stack);

}  // namespace tidegauge::analysis
