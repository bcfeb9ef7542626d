// Fragmentation over time: up to 10,000 samples of a device, between two steps.
//
//   steps  0 ─────────────────────────── 9,999
//   5 of   0      2,499     4,999     7,499   9,999      both ends are samples
//
// Cost: O(live + births between two samples) per sample (layout_cursor.h); 2,000 samples of ten
// million events are in docs/performance.md. Memory: some 300 bytes per sample.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/layout/fragmentation.h"
#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

inline constexpr size_t kMaxSamples = 10'000;

struct SeriesOptions {
  Step first = 0;
  Step last = model::kNoStep;  // beyond the end: the last step
  size_t samples = 200;
  LayoutOptions layout{};
};

struct FragmentationSeries {
  uint64_t request_bytes = 0;                // the trace's own large request: see typicalRequest()
  model::PoolId pool;                        // whose shape the scores are: see mainPool()
  std::vector<FragmentationSample> samples;  // at least one
};

FragmentationSeries fragmentationSeries(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                        const SeriesOptions& options);

// At most `samples` steps from first to last, including both, spaced as equally as steps allow.
std::vector<Step> sampleSteps(Step first, Step last, size_t samples);

// The 95th percentile (nearest rank) of the device's requests, each recorded allocation counted
// once, rounded up to 512 bytes as the allocator does. 0 without allocations.
uint64_t typicalRequest(const model::Trace& trace, const model::Device& device);

// The pool that ever held the most reserved bytes at once; the default pool on a tie.
model::PoolId mainPool(const model::Trace& trace, const model::Device& device);

// The defaults for the device: its typical request, its main pool. O(allocations).
FragmentationOptions ownOptions(const model::Trace& trace, const model::Device& device);

}  // namespace tidegauge::analysis
