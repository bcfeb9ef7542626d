#include "analysis/oom/segment_rests.h"

#include <map>
#include <tuple>
#include <utility>

namespace tidegauge::analysis {

SegmentRests segmentRests(const model::Trace& trace, const SegmentedLayout& layout,
                          const AllocatorRules& rules, model::PoolId pool) {
  SegmentRests rests;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> bytes_by_size;  // request, segment
  for (const SegmentContents& contents : layout.segments()) {
    bool counts = contents.segment.valid() && !isExpandable(trace, contents.segment) &&
                  poolOf(trace, contents.segment) == pool && contents.blocks.size() == 2 &&
                  isLive(contents.blocks[0]) && !isLive(contents.blocks[1]);
    if (!counts) continue;
    uint64_t request = contents.blocks[0].requested_bytes;
    uint64_t block = contents.bytesOf(0), rest = contents.bytesOf(1);
    uint64_t rounded = rules.roundedBytes(request);
    bool is_own = !rules.isSmall(rounded) && rules.segmentBytes(rounded) == block + rest;
    if (!is_own || rest >= rounded) continue;
    rests.bytes += rest;
    rests.segments++;
    bytes_by_size[{request, block + rest}] += rest;
  }
  uint64_t most = 0;
  for (const auto& [sizes, bytes] : bytes_by_size) {
    if (bytes <= most) continue;
    most = bytes;
    std::tie(rests.request_bytes, rests.segment_bytes) = sizes;
  }
  return rests;
}

}  // namespace tidegauge::analysis
