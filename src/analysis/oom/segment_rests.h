// The rests of segments that were made for one request: the allocator rounds a segment up, and the
// rest is too small for a second request of that size.
//
//   request 10.01 MiB → segment 12 MiB   [ block 10.01 MiB | rest 1.99 MiB ]   341 times: 679 MiB
//
// Cost: O(live + pieces). Source: CUDACachingAllocator get_allocation_size.
#pragma once

#include <cstdint>

#include "analysis/layout/free_blocks.h"
#include "analysis/layout/segment_contents.h"

namespace tidegauge::analysis {

struct SegmentRests {
  uint64_t bytes = 0;     // free, in all such rests
  uint64_t segments = 0;  // with such a rest
  // Of the size class with most of these bytes: what the program requested, and its segment.
  uint64_t request_bytes = 0;
  uint64_t segment_bytes = 0;
};

// Of the ordinary segments of one pool, large size class.
SegmentRests segmentRests(const model::Trace& trace, const SegmentedLayout& layout,
                          const AllocatorRules& rules, model::PoolId pool);

}  // namespace tidegauge::analysis
