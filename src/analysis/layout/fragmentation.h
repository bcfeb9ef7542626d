// Fragmentation at one step: the free memory inside the segments of a device, why it could not be
// used or returned, and the shape of the most important pool.
//
//   segment A  [ live | 3 free | live | 5 free ]     free 8 of it, all pinned; largest hole 5
//   segment B  [ 4 free                        ]     free 4, releasable: nothing lives in it
//
//   free = pinned + releasable = 12     largest hole 5     scattered = 12 − 5 = 7
//   external 1 − 5/12                   by segment 1 − (5 + 4)/12
//
// Only memory inside known segments counts; reserved = covered by live blocks + free, to the byte.
// A pool is one memory pool of PyTorch (default, or one of a graph or a MemPool). Sums cover the
// whole device, scores one pool: an arena never spans two.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/layout/allocator_rules.h"
#include "analysis/layout/free_sums.h"
#include "analysis/layout/layout_cursor.h"
#include "analysis/layout/layout_score.h"
#include "analysis/trace/totals.h"

namespace tidegauge::analysis {

struct FragmentationSums {
  uint64_t reserved_bytes = 0;  // owned; = covered_bytes + free.bytes
  uint64_t covered_bytes = 0;   // by live blocks
  uint64_t blocks = 0;          // live, inside segments
  uint64_t waste_bytes = 0;     // of these blocks, not requested: rounding and unsplit tails
  FreeSums free;
  bool operator==(const FragmentationSums&) const = default;
};

struct FragmentationSample {
  Step step = 0;
  Totals totals;  // of the device, as everywhere
  FragmentationSums sums;
  uint64_t outside_blocks = 0;  // live blocks in no known segment: in none of the sums
  LayoutScore reserved;         // of the pool that the options name
  LayoutScore address;
};

struct FragmentationOptions {
  uint64_t request_bytes = 0;  // for stranded_bytes; 0: not computed
  model::PoolId pool{};        // whose shape is scored; see mainPool()
  bool pool_only = false;      // the sums, too, cover that pool alone
  LayoutOptions layout{};
};

// Reads a cursor's state. Keeps buffers between calls; one per thread.
class FragmentationGauge {
 public:
  FragmentationGauge(const model::Trace& trace, const model::Device& device,
                     const FragmentationOptions& options);

  // `totals` stays empty: the cursor does not know it.
  FragmentationSample read(const LayoutCursor& cursor);

 private:
  struct OfSegment {
    SegmentHoles holes;
    bool seen = false;
  };
  SegmentHoles& holesOf(model::SegmentId segment);
  void closeSegments(FreeSums& sums);
  LayoutScore addressScore(const LayoutCursor& cursor) const;

  const model::Trace& trace_;
  const model::Device& device_;
  FragmentationOptions options_;
  AllocatorRules rules_;
  std::vector<bool> in_pool_;          // by segment of the device
  std::vector<OfSegment> by_segment_;  // of the device
  std::vector<uint32_t> seen_;
  std::vector<uint64_t> sizes_, gaps_;  // of the pool
};

}  // namespace tidegauge::analysis
