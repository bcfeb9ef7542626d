// The free blocks inside segments, as the allocator searches them: one list per size class, pool
// and stream, and a fit test by its rules.
//
//   large, pool default, stream 0     [ 3 MiB ] [ 12 MiB ] [ 40 MiB ]
//     a request of 10 MiB             takes the 12 MiB (best fit)
//     a request of 41 MiB             fits nowhere: new driver memory, although 55 MiB are free
//   small, pool default, stream 0     [ 512 B ] [ 1.5 MiB ]      requests up to 1 MiB only
//   large, pool (1, 0), stream 7      [ 80 MiB ]                 of a graph: reserved for it
//
// A request never crosses lists. Freed blocks that still wait for another stream are not free.
// Segments without a recorded pool are taken for the default pool, as PyTorch's viewer does. Cost:
// O(live + pieces) to build, plus sorting; a fit test is a binary search.
// Source: CUDACachingAllocator get_free_block.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/layout/allocator_rules.h"
#include "analysis/layout/segment_contents.h"
#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

struct FreeBlock {
  model::SegmentId segment;
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  // Size including the unmapped range after it (expandable segments). kUnknownBytes if that range
  // is the last, whose end no file records.
  uint64_t growable_bytes = 0;
  bool expandable = false;
  bool whole_segment = false;  // no live block in it: could be returned to the driver
};

struct FreeListKey {
  bool small = false;
  model::PoolId pool;
  model::StreamId stream;
  auto operator<=>(const FreeListKey&) const = default;
};

struct FreeList {
  FreeListKey key;
  std::vector<FreeBlock> blocks{};  // by size, then by address
  // Where a search ends that first finds block i large enough; blocks.size(): nowhere.
  std::vector<uint32_t> chosen{};
  uint64_t bytes = 0;
  uint64_t reserved_bytes = 0;  // of the segments that may contain the list's blocks
  uint64_t live_bytes = 0;      // live blocks in these segments
  uint64_t segments = 0;
  uint64_t largestBytes() const { return blocks.empty() ? 0 : blocks.back().size_bytes; }
};

// Reservations of expandable segments: where the next page would be mapped.
struct ExpandableRun {
  FreeListKey key;
  uint64_t address = 0;
  // Free, unmapped, free, … of a stretch without live blocks, in address order. It begins with a
  // free part (perhaps of 0 bytes). The last unmapped part of a reservation has no known end:
  // kUnknownBytes.
  std::vector<uint64_t> parts_bytes;
};

struct FreeBlocks {
  AllocatorRules rules;
  std::vector<FreeList> lists{};      // by key; also lists without a free block
  std::vector<ExpandableRun> runs{};  // by key, then by address
  uint64_t bytes = 0;
  uint64_t count = 0;
  uint64_t largest_bytes = 0;
  uint64_t unknown_pool_bytes = 0;  // reserved by segments without a recorded pool

  const FreeList* find(const FreeListKey& key) const;
  FreeListKey keyFor(uint64_t request_bytes, model::PoolId pool, model::StreamId stream) const {
    return {rules.isSmall(rules.roundedBytes(request_bytes)), pool, stream};
  }
};

FreeBlocks freeBlocks(const model::Trace& trace, const SegmentedLayout& layout);
// The state after the step; see blocksAt.
FreeBlocks freeBlocksAt(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step);

// The block that the allocator would return (or split) for the request, without new driver memory.
const FreeBlock* fit(const FreeBlocks& free, uint64_t request_bytes, model::PoolId pool,
                     model::StreamId stream);
const FreeBlock* fit(const AllocatorRules& rules, const FreeList& list, uint64_t request_bytes);

// The largest request that the list serves; 0 if it serves none.
uint64_t largestRequest(const AllocatorRules& rules, const FreeList& list);

// What the allocator would request from the driver if no block fits: a segment, or the pages that a
// reservation lacks.
uint64_t driverBytes(const FreeBlocks& free, uint64_t request_bytes, model::PoolId pool,
                     model::StreamId stream);

// Free bytes that cannot serve requests of that size, even if all requests had it: F − Σ ⌊free / r⌋
// · r over the free blocks. 0 for r = 0.
uint64_t strandedBytes(const FreeBlocks& free, uint64_t request_bytes);

}  // namespace tidegauge::analysis
