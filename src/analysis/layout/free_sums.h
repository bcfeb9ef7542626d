// The free memory inside segments, summed hole by hole: how many bytes, in how many holes, how much
// could be returned to the driver, and how much live blocks pin.
//
//   ordinary    [ live | 3 free | live | 5 free ]    free 8, all of it pinned; largest hole 5
//   ordinary    [ 4 free                        ]    free 4, releasable: nothing lives in it
//   expandable  | live 1 free | 2 free | 1 free live |    of 4 the page in the middle is releasable
//   graph pool  [ 4 free                        ]    free 4, held: only that graph can use it
//
// Ordinary segments are returned to the driver as a whole, expandable ones page by page (2 MiB in
// small pools, 20 MiB in large ones unless the settings differ, counted from the segment's
// address). All sums of holes use this: over time (fragmentation.h), at one step (freeSums), stack
// by stack (pinned.h). Cost: O(1) per hole.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/layout/layout.h"

namespace tidegauge::analysis {

struct FreeSums {
  uint64_t bytes = 0;
  uint64_t holes = 0;
  uint64_t largest_bytes = 0;
  uint64_t segment_largest_bytes = 0;  // Σ over segments of their largest hole
  uint64_t pinned_bytes = 0;  // a live block in the segment (or page) keeps it from being returned
  // Whole segments without a live block, and whole free pages: of the default pool, which
  // empty_cache() returns …
  uint64_t releasable_bytes = 0;
  // … and of private pools, which it returns only after their graph or MemPool is gone.
  uint64_t held_in_pools_bytes = 0;
  uint64_t pinned_segments = 0;  // segments with pinned bytes
  uint64_t stranded_bytes = 0;   // free bytes that cannot serve requests of one size
  bool operator==(const FreeSums&) const = default;

  uint64_t scatteredBytes() const { return bytes - largest_bytes; }  // not in the largest hole
  double external() const;           // 1 − largest / bytes; 0 … 1
  double externalBySegment() const;  // the mean over segments, weighted by their free bytes
};

// The part of one hole that requests of that size leave over, even if all requests had it: hole −
// ⌊hole / r⌋ · r. 0 for r = 0.
inline uint64_t strandedBytes(uint64_t hole_bytes, uint64_t request_bytes) {
  return request_bytes == 0 ? 0 : hole_bytes % request_bytes;
}

// The holes of one segment, in any order.
class SegmentHoles {
 public:
  // `offset` is counted from the segment's address; `page_bytes` is 0 for an ordinary segment.
  void add(uint64_t offset, uint64_t bytes, uint64_t page_bytes);
  void setLive() { live_ = true; }        // a live block lies in the segment
  void setPrivate() { private_ = true; }  // the segment belongs to a private pool
  // Adds bytes, holes and the largest hole. The caller adds stranded bytes.
  void addTo(FreeSums& sums) const;

 private:
  uint64_t bytes_ = 0;
  uint64_t count_ = 0;
  uint64_t largest_bytes_ = 0;
  uint64_t page_bytes_ = 0;  // in whole free pages
  bool live_ = false;
  bool private_ = false;
};

// `blocks` of one segment, or of segments that do not lie inside each other. Stranded bytes stay 0.
FreeSums freeSums(const model::Trace& trace, std::span<const LayoutBlock> blocks);
// The page size by which an expandable segment is returned to the driver.
uint64_t pageBytes(const model::Trace& trace, model::SegmentId segment);

}  // namespace tidegauge::analysis
