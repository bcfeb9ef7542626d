#include "analysis/layout/live_layout.h"

#include <algorithm>
#include <utility>

#include "analysis/layout/free_sums.h"
#include "analysis/trace/trend.h"

namespace tidegauge::analysis {
namespace {

constexpr uint64_t kRoundBytes = 512;  // PyTorch's rounding of blocks
constexpr size_t kMinForGrowth = 8;

uint64_t percentile95(std::vector<uint64_t> sizes) {
  if (sizes.empty()) return 0;
  auto at = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) * 95 / 100);
  std::nth_element(sizes.begin(), at, sizes.end());
  return *at;
}

}  // namespace

LiveLayout liveLayout(std::span<const model::LiveRange> ranges,
                      std::span<const model::LiveRange> blocks, int32_t device) {
  LiveLayout layout;
  std::vector<uint64_t> sizes, gaps;
  std::vector<LayoutRange> handed_out;
  auto gap = [&](uint64_t begin, uint64_t end) {
    if (begin >= end) return;
    gaps.push_back(end - begin);
    layout.free_bytes += end - begin;
  };
  size_t at = 0;
  for (const model::LiveRange& range : ranges) {
    if (range.device != device) continue;
    uint64_t cursor = range.address, range_end = range.address + range.size_bytes;
    handed_out.push_back({cursor, range_end});
    if (!range.of_framework) continue;
    layout.reserved_bytes += range.size_bytes;
    while (at < blocks.size() && blocks[at].address < cursor) ++at;
    for (; at < blocks.size() && blocks[at].address < range_end; ++at) {
      uint64_t begin = blocks[at].address;
      uint64_t next = at + 1 < blocks.size() ? blocks[at + 1].address : range_end;
      uint64_t room = std::min(next, range_end) - begin;
      uint64_t whole = (blocks[at].size_bytes + kRoundBytes - 1) / kRoundBytes * kRoundBytes;
      uint64_t size = std::min(std::max(whole, blocks[at].size_bytes), room);
      gap(cursor, begin);
      if (size > 0) sizes.push_back(size);
      cursor = begin + size;
    }
    gap(cursor, range_end);
  }
  layout.request_bytes = percentile95(sizes);
  for (uint64_t hole : gaps) layout.stranded_bytes += strandedBytes(hole, layout.request_bytes);
  layout.reserved = layoutScore(sizes, gaps, layout.reserved_bytes);
  layout.address = layoutScore(handed_out);
  return layout;
}

void LiveTrend::add(double time_s, const LayoutScore& score, uint64_t floor_bytes) {
  scores_.push_back({featuresOf(score), score.score});
  times_.push_back(time_s);
  floors_.push_back(static_cast<double>(floor_bytes));
  if (scores_.size() <= kForecastHistory) return;
  scores_.erase(scores_.begin());
  times_.erase(times_.begin());
  floors_.erase(floors_.begin());
}

std::optional<Forecast> LiveTrend::forecast() const {
  Forecast all = analysis::forecast(scores_);
  return all.enough ? std::optional(all) : std::nullopt;
}

std::optional<double> LiveTrend::growth() const {
  if (floors_.size() < kMinForGrowth) return std::nullopt;
  Slope slope = theilSen(times_, floors_, Neighbours::kAlikeNeighbours);
  return slope.rises() ? slope.slope : 0.0;
}

}  // namespace tidegauge::analysis
