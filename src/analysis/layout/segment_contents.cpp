#include "analysis/layout/segment_contents.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <numeric>

namespace tidegauge::analysis {

uint64_t SegmentContents::bytesOf(size_t i) const {
  const LayoutBlock& block = blocks[i];
  if (!segment.valid() || i + 1 == blocks.size()) return block.size_bytes;
  return std::min(block.size_bytes, blocks[i + 1].address - block.address);
}

bool isExpandable(const model::Trace& trace, model::SegmentId segment) {
  return segment.valid() && trace.segments.kind[segment.index()] == model::SegmentKind::kExpandable;
}

model::PoolId poolOf(const model::Trace& trace, model::SegmentId segment) {
  model::PoolId pool = trace.segments.pool[segment.index()];
  return pool.valid() ? pool : model::PoolId(0);
}

bool isPrivate(const model::Trace& trace, model::SegmentId segment) {
  return poolOf(trace, segment) != model::PoolId(0);
}

SegmentedLayout::SegmentedLayout(const std::vector<LayoutBlock>& blocks) : blocks_(blocks.size()) {
  boost::unordered_flat_map<uint32_t, uint32_t> index_of;
  std::vector<uint32_t> index(blocks.size());
  std::vector<size_t> count;
  uint32_t last_segment = 0;
  uint32_t last_index = UINT32_MAX;
  for (size_t i = 0; i < blocks.size(); ++i) {
    uint32_t segment = blocks[i].segment.value;
    if (last_index == UINT32_MAX || segment != last_segment) {
      auto [found, fresh] = index_of.try_emplace(segment, static_cast<uint32_t>(count.size()));
      if (fresh) count.push_back(0);
      last_segment = segment;
      last_index = found->second;
    }
    index[i] = last_index;
    count[last_index]++;
  }
  std::vector<size_t> begins(count.size() + 1, 0);
  std::partial_sum(count.begin(), count.end(), begins.begin() + 1);
  std::vector<size_t> next(begins.begin(), begins.end() - 1);
  for (size_t i = 0; i < blocks.size(); ++i) blocks_[next[index[i]]++] = blocks[i];
  for (size_t s = 0; s < count.size(); ++s) {
    std::span<const LayoutBlock> parts(blocks_.data() + begins[s], count[s]);
    segments_.push_back({parts.front().segment, parts});
  }
}

}  // namespace tidegauge::analysis
