#include "view/block_at.h"

#include <algorithm>
#include <limits>

#include "view/sampled_lives.h"

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
  Samples samples = samplesOf(columnStates(device, range));
  std::vector<SampledLife> lives =
      sampledLives(analysed.trace, device, samples.step, uint64_t{row} + 1);
  if (lives.empty() || lives.back().row != row) return edges;  // not live at any sample
  const SampledLife& wanted = lives.back();
  std::vector<double> height(samples.size(), 0);
  for (const SampledLife& life : lives) {
    if (life.row == row) break;
    auto bytes = static_cast<double>(analysed.trace.allocations.block_bytes[life.row]);
    size_t begin = std::max(life.begin, wanted.begin);
    size_t end = std::min(life.end, wanted.end);
    for (size_t k = begin; k < end; ++k) height[k] += bytes;
  }
  for (size_t k = wanted.begin; k < wanted.end; ++k) {
    std::fill(edges.begin() + samples.begin[k], edges.begin() + samples.begin[k + 1], height[k]);
  }
  return edges;
}

}  // namespace tidegauge::view
