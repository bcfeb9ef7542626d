#include "analysis/layout/fragmentation_series.h"

#include <algorithm>
#include <map>

namespace tidegauge::analysis {

std::vector<Step> sampleSteps(Step first, Step last, size_t samples) {
  std::vector<Step> steps;
  samples = std::clamp<size_t>(samples, 1, kMaxSamples);
  uint64_t width = last > first ? last - first : 0;
  uint64_t slices = std::min<uint64_t>(samples - 1, width);
  for (uint64_t i = 0; i < slices; ++i) {
    steps.push_back(first + static_cast<Step>(width * i / slices));
  }
  steps.push_back(first + static_cast<Step>(width));
  return steps;
}

uint64_t typicalRequest(const model::Trace& trace, const model::Device& device) {
  constexpr uint64_t kRounding = 512;
  const model::Allocations& a = trace.allocations;
  std::vector<uint64_t> requests;
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    if (a.has(row, model::kAllocSeen)) requests.push_back(a.requested_bytes[row]);
  }
  if (requests.empty()) {  // no recording: the blocks of the final state were requested, too
    requests.assign(a.requested_bytes.begin() + static_cast<ptrdiff_t>(device.allocation_begin),
                    a.requested_bytes.begin() + static_cast<ptrdiff_t>(device.allocation_end));
  }
  std::erase(requests, model::kUnknownBytes);
  if (requests.empty()) return 0;
  size_t rank = (requests.size() * 95 + 99) / 100 - 1;
  auto nth = requests.begin() + static_cast<ptrdiff_t>(rank);
  std::nth_element(requests.begin(), nth, requests.end());
  uint64_t request = std::max<uint64_t>(*nth, 1);
  return request > UINT64_MAX - kRounding ? request
                                          : (request + kRounding - 1) / kRounding * kRounding;
}

model::PoolId mainPool(const model::Trace& trace, const model::Device& device) {
  struct Change {
    Step step;
    bool begins;
    model::PoolId pool;
    uint64_t bytes;
  };
  const model::Pieces& p = trace.pieces;
  std::vector<Change> changes;
  for (uint64_t row = device.piece_begin; row < device.piece_end; ++row) {
    model::PoolId pool = poolOf(trace, p.segment[row]);
    if (device.steps() > 0 && p.last_step[row] <= p.first_step[row]) continue;
    changes.push_back({device.steps() > 0 ? p.first_step[row] : 0, true, pool, p.size_bytes[row]});
    if (device.steps() > 0) changes.push_back({p.last_step[row], false, pool, p.size_bytes[row]});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& x, const Change& y) {
    return x.step != y.step ? x.step < y.step : x.begins < y.begins;
  });
  struct Level {
    uint64_t now = 0;
    uint64_t most = 0;
  };
  std::map<model::PoolId, Level> levels;
  for (const Change& change : changes) {
    Level& level = levels[change.pool];
    level.now += change.begins ? change.bytes : uint64_t{0} - change.bytes;
    level.most = std::max(level.most, level.now);
  }
  model::PoolId best(0);
  uint64_t most = levels.contains(best) ? levels[best].most : 0;
  for (const auto& [pool, level] : levels) {
    if (level.most > most) {
      best = pool;
      most = level.most;
    }
  }
  return best;
}

FragmentationSeries fragmentationSeries(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                        const SeriesOptions& options) {
  const model::Trace& trace = analysed.trace;
  FragmentationSeries series;
  series.request_bytes = typicalRequest(trace, device.device);
  series.pool = mainPool(trace, device.device);
  Step end = std::max<Step>(device.device.steps(), 1) - 1;
  LayoutCursor cursor(trace, device.device, device.live);
  FragmentationGauge gauge(
      trace, device.device,
      {.request_bytes = series.request_bytes, .pool = series.pool, .layout = options.layout});
  for (Step step :
       sampleSteps(std::min(options.first, end), std::min(options.last, end), options.samples)) {
    cursor.advanceTo(step);
    FragmentationSample& sample = series.samples.emplace_back(gauge.read(cursor));
    sample.step = step;
    sample.totals = device.totals.at(step);
  }
  return series;
}

FragmentationOptions ownOptions(const model::Trace& trace, const model::Device& device) {
  FragmentationOptions options;
  options.request_bytes = typicalRequest(trace, device);
  options.pool = mainPool(trace, device);
  return options;
}

}  // namespace tidegauge::analysis
