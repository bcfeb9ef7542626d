#include "analysis/fragmentation.h"

#include <algorithm>

#include "analysis/layout.h"
#include "analysis/segment_contents.h"

namespace tidegauge::analysis {
namespace {

double shareLeft(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 1 - static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double FreeSums::external() const { return shareLeft(largest_bytes, bytes); }
double FreeSums::externalBySegment() const { return shareLeft(segment_largest_bytes, bytes); }

model::PoolId poolOf(const model::Trace& trace, model::SegmentId segment) {
  model::PoolId pool = trace.segments.pool[segment.index()];
  return pool.valid() ? pool : model::PoolId(0);
}

FragmentationGauge::FragmentationGauge(const model::Trace& trace, const model::Device& device,
                                       const FragmentationOptions& options)
    : trace_(trace), device_(device), options_(options), rules_(rulesOf(trace)) {
  for (uint64_t row = device.segment_begin; row < device.segment_end; ++row) {
    model::SegmentId segment(static_cast<uint32_t>(row));
    in_pool_.push_back(poolOf(trace, segment) == options.pool);
  }
  by_segment_.resize(in_pool_.size());
}

FragmentationGauge::SegmentSums& FragmentationGauge::sumsOf(model::SegmentId segment) {
  auto index = static_cast<uint32_t>(segment.index() - device_.segment_begin);
  SegmentSums& sums = by_segment_[index];
  if (!sums.seen) seen_.push_back(index);
  sums.seen = true;
  return sums;
}

void FragmentationGauge::addHole(const OwnedNow& range, uint64_t begin, uint64_t end,
                                 FragmentationSums& sums) {
  if (begin >= end) return;
  uint64_t bytes = end - begin;
  FreeSums& free = sums.free;
  free.bytes += bytes;
  free.holes++;
  free.largest_bytes = std::max(free.largest_bytes, bytes);
  if (options_.request_bytes > 0) free.stranded_bytes += bytes % options_.request_bytes;
  SegmentSums& segment = sumsOf(range.segment);
  segment.free_bytes += bytes;
  segment.largest_bytes = std::max(segment.largest_bytes, bytes);
  if (isExpandable(trace_, range.segment)) {
    bool small = trace_.segments.small_pool[range.segment.index()];
    uint64_t offset = begin - trace_.segments.address[range.segment.index()];
    segment.page_bytes += wholePageBytes(offset, bytes, rules_.pageBytes(small));
  }
  if (in_pool_[range.segment.index() - device_.segment_begin]) gaps_.push_back(bytes);
}

void FragmentationGauge::closeSegments(FragmentationSums& sums) {
  for (uint32_t index : seen_) {
    SegmentSums& segment = by_segment_[index];
    uint64_t releasable = segment.live ? segment.page_bytes : segment.free_bytes;
    sums.free.releasable_bytes += releasable;
    sums.free.pinned_bytes += segment.free_bytes - releasable;
    sums.free.pinned_segments += segment.free_bytes > releasable;
    sums.free.segment_largest_bytes += segment.largest_bytes;
    segment = {};
  }
  seen_.clear();
}

FragmentationSample FragmentationGauge::read(const LayoutCursor& cursor) {
  FragmentationSample sample;
  FragmentationSums& sums = sample.sums;
  sizes_.clear();
  gaps_.clear();
  uint64_t pool_bytes = 0;
  std::span<const LiveBlock> blocks = cursor.blocks();
  size_t next = 0;
  for (const OwnedNow& range : cursor.owned()) {
    bool in_pool = in_pool_[range.segment.index() - device_.segment_begin];
    if (options_.pool_only && !in_pool) continue;
    sums.reserved_bytes += range.end - range.begin;
    if (in_pool) pool_bytes += range.end - range.begin;
    for (; next < blocks.size() && blocks[next].address < range.begin; ++next) {
      sample.outside_blocks++;  // with pool_only: in no segment of this pool
    }
    uint64_t at = range.begin;  // filled up to here
    size_t first = next;
    for (; next < blocks.size() && blocks[next].address < range.end; ++next) {
      const LiveBlock& block = blocks[next];
      if (block.address > at) addHole(range, at, block.address, sums);
      // Blocks of a file that contradicts itself may overlap: each byte is covered once.
      uint64_t end = block.address + std::min(block.block_bytes, range.end - block.address);
      uint64_t covered = end > at ? end - std::max(at, block.address) : 0;
      at = std::max(at, end);
      sums.covered_bytes += covered;
      sums.waste_bytes += block.block_bytes - std::min(block.block_bytes, block.requested_bytes);
      if (in_pool) sizes_.push_back(covered);
    }
    sums.blocks += next - first;
    if (next > first) sumsOf(range.segment).live = true;
    addHole(range, at, range.end, sums);
  }
  sample.outside_blocks += blocks.size() - next;
  closeSegments(sums);
  sample.reserved = layoutScore(sizes_, gaps_, pool_bytes, options_.layout);
  sample.address = addressScore(cursor);
  return sample;
}

// Gaps are what nobody of this device owns: a segment of another pool in between is no hole.
LayoutScore FragmentationGauge::addressScore(const LayoutCursor& cursor) const {
  std::vector<uint64_t> sizes;
  std::vector<uint64_t> gaps;
  uint64_t first = 0;
  uint64_t last = 0;       // end of the pool's last range
  uint64_t end = 0;        // of any range so far
  size_t gaps_inside = 0;  // up to the pool's last range
  for (const OwnedNow& range : cursor.owned()) {
    bool in_pool = in_pool_[range.segment.index() - device_.segment_begin];
    if (sizes.empty() && !in_pool) continue;
    if (sizes.empty()) {
      first = range.begin;
    } else if (range.begin > end) {
      gaps.push_back(range.begin - end);
    }
    end = range.end;
    if (!in_pool) continue;
    sizes.push_back(range.end - range.begin);
    last = range.end;
    gaps_inside = gaps.size();
  }
  gaps.resize(gaps_inside);
  return layoutScore(sizes, gaps, last - first, options_.layout);
}

}  // namespace tidegauge::analysis
