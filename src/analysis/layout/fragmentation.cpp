#include "analysis/layout/fragmentation.h"

#include <algorithm>

#include "analysis/layout/segment_contents.h"

namespace tidegauge::analysis {

FragmentationGauge::FragmentationGauge(const model::Trace& trace, const model::Device& device,
                                       const FragmentationOptions& options)
    : trace_(trace), device_(device), options_(options), rules_(rulesOf(trace)) {
  for (uint64_t row = device.segment_begin; row < device.segment_end; ++row) {
    model::SegmentId segment(static_cast<uint32_t>(row));
    in_pool_.push_back(poolOf(trace, segment) == options.pool);
  }
  by_segment_.resize(in_pool_.size());
}

SegmentHoles& FragmentationGauge::holesOf(model::SegmentId segment) {
  auto index = static_cast<uint32_t>(segment.index() - device_.segment_begin);
  OfSegment& of = by_segment_[index];
  if (!of.seen) {
    seen_.push_back(index);
    of.seen = true;
    if (isPrivate(trace_, segment)) of.holes.setPrivate();
  }
  return of.holes;
}

void FragmentationGauge::closeSegments(FreeSums& sums) {
  for (uint32_t index : seen_) {
    by_segment_[index].holes.addTo(sums);
    by_segment_[index] = {};
  }
  seen_.clear();
}

FragmentationSample FragmentationGauge::read(const LayoutCursor& cursor) {
  FragmentationSample sample;
  FragmentationSums& sums = sample.sums;
  sizes_.clear();
  gaps_.clear();
  uint64_t pool_bytes = 0;
  bool in_pool = false;           // of the current range
  SegmentHoles* holes = nullptr;  // of its segment
  auto takes = [&](const OwnedNow& range) {
    in_pool = in_pool_[range.segment.index() - device_.segment_begin];
    if (options_.pool_only && !in_pool) return false;
    sums.reserved_bytes += range.end - range.begin;
    if (in_pool) pool_bytes += range.end - range.begin;
    holes = &holesOf(range.segment);
    return true;
  };
  auto onBlock = [&](const OwnedNow&, const LiveBlock& block, uint64_t covered) {
    sums.blocks++;
    sums.covered_bytes += covered;
    sums.waste_bytes += block.block_bytes - std::min(block.block_bytes, block.requested_bytes);
    holes->setLive();
    if (in_pool) sizes_.push_back(covered);
  };
  auto onHole = [&](const OwnedNow& range, uint64_t begin, uint64_t end) {
    uint64_t bytes = end - begin;
    size_t segment = range.segment.index();
    bool pages = isExpandable(trace_, range.segment);
    holes->add(begin - trace_.segments.address[segment], bytes,
               pages ? rules_.pageBytes(trace_.segments.small_pool[segment]) : 0);
    sums.free.stranded_bytes += strandedBytes(bytes, options_.request_bytes);
    if (in_pool) gaps_.push_back(bytes);
  };
  // With pool_only, blocks in segments of other pools also count as outside.
  sample.outside_blocks = walkOwned(cursor, takes, onBlock, onHole);
  closeSegments(sums.free);
  sample.reserved = layoutScore(sizes_, gaps_, pool_bytes, options_.layout);
  sample.address = addressScore(cursor);
  return sample;
}

// A gap is owned by nobody on this device: a segment of another pool in between is not a hole.
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
