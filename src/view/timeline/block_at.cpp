#include "view/timeline/block_at.h"

#include <algorithm>
#include <limits>

#include "view/timeline/stack_parts.h"

namespace tidegauge::view {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;

std::optional<uint32_t> blockAt(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                Step step, double y_bytes) {
  if (!(y_bytes >= 0)) return std::nullopt;
  double height = 0;
  for (uint32_t row : device.live.liveAt(step)) {
    height += static_cast<double>(analysed.trace.allocations.block_bytes[row]);
    if (y_bytes < height) return row;
  }
  return std::nullopt;
}

std::optional<uint32_t> neighbourOf(const AnalysedTrace&, const DeviceAnalysis& device, Step step,
                                    uint32_t row, Direction direction) {
  std::vector<uint32_t> live = device.live.liveAt(step);
  auto here = std::lower_bound(live.begin(), live.end(), row);
  if (here == live.end() || *here != row) return std::nullopt;
  if (direction == Direction::kDown) {
    if (here == live.begin()) return std::nullopt;
    return *(here - 1);
  }
  if (here + 1 == live.end()) return std::nullopt;
  return *(here + 1);
}

std::vector<double> lowerEdges(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                               uint32_t row, const XRange& range) {
  std::vector<double> edges(range.columns, std::numeric_limits<double>::quiet_NaN());
  Samples samples = samplesOf(columnPeaks(device, range));
  auto isLive = [&](Step step) {
    return device.totals.steps() == 0 || analysis::liveAfter(analysed.trace, row, step);
  };
  // Only samples [begin, end), during its life, need the blocks below.
  auto first = std::find_if(samples.step.begin(), samples.step.end(), isLive);
  auto last = std::find_if_not(first, samples.step.end(), isLive);
  auto begin = static_cast<size_t>(first - samples.step.begin());
  std::vector<double> height(static_cast<size_t>(last - first), 0);
  std::vector<StackPart> below =
      stackParts(analysed, device,
                 {.samples = {first, last},
                  .small_bytes = std::numeric_limits<double>::infinity(),  // only sums matter
                  .end_row = row});
  for (const StackPart& part : below) {
    for (size_t k = part.begin; k < part.end; ++k) height[k] += part.bytes;
  }
  for (size_t k = 0; k < height.size(); ++k) {
    std::fill(edges.begin() + samples.begin[begin + k],
              edges.begin() + samples.begin[begin + k + 1], height[k]);
  }
  return edges;
}

}  // namespace tidegauge::view
