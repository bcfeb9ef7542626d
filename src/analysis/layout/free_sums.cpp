#include "analysis/layout/free_sums.h"

#include <algorithm>

#include "analysis/layout/allocator_rules.h"
#include "analysis/layout/segment_contents.h"

namespace tidegauge::analysis {
namespace {

double shareLeft(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 1 - static_cast<double>(part) / static_cast<double>(whole);
}

// Bytes of the whole pages inside [offset, offset + size).
uint64_t wholePageBytes(uint64_t offset, uint64_t size_bytes, uint64_t page) {
  uint64_t first = offset / page + (offset % page != 0);
  uint64_t last = (offset + size_bytes) / page;
  return last > first ? (last - first) * page : 0;
}

}  // namespace

double FreeSums::external() const { return shareLeft(largest_bytes, bytes); }
double FreeSums::externalBySegment() const { return shareLeft(segment_largest_bytes, bytes); }

void SegmentHoles::add(uint64_t offset, uint64_t bytes, uint64_t page_bytes) {
  bytes_ += bytes;
  count_++;
  largest_bytes_ = std::max(largest_bytes_, bytes);
  if (page_bytes > 0) page_bytes_ += wholePageBytes(offset, bytes, page_bytes);
}

void SegmentHoles::addTo(FreeSums& sums) const {
  uint64_t whole = live_ ? page_bytes_ : bytes_;
  sums.bytes += bytes_;
  sums.holes += count_;
  sums.largest_bytes = std::max(sums.largest_bytes, largest_bytes_);
  sums.segment_largest_bytes += largest_bytes_;
  (private_ ? sums.held_in_pools_bytes : sums.releasable_bytes) += whole;
  sums.pinned_bytes += bytes_ - whole;
  sums.pinned_segments += bytes_ > whole;
}

FreeSums freeSums(const model::Trace& trace, std::span<const LayoutBlock> blocks) {
  FreeSums sums;
  for (size_t i = 0; i < blocks.size();) {
    model::SegmentId segment = blocks[i].segment;
    bool pages = isExpandable(trace, segment);
    uint64_t base = pages ? trace.segments.address[segment.index()] : 0;
    uint64_t page = pages ? pageBytes(trace, segment) : 0;
    SegmentHoles holes;
    if (segment.valid() && isPrivate(trace, segment)) holes.setPrivate();
    for (; i < blocks.size() && blocks[i].segment == segment; ++i) {
      if (isLive(blocks[i])) {
        holes.setLive();
      } else {
        holes.add(blocks[i].address - base, blocks[i].size_bytes, page);
      }
    }
    holes.addTo(sums);
  }
  return sums;
}

uint64_t pageBytes(const model::Trace& trace, model::SegmentId segment) {
  return trace.segments.small_pool[segment.index()] ? AllocatorRules::kSmallSegmentBytes
                                                    : largeSegmentBytes(trace.settings);
}

}  // namespace tidegauge::analysis
