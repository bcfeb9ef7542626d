// Details of fragmentation at one step: by pool, by size class, by the size of a request.
//
//   stranded(r) = free − Σ over holes of ⌊hole / r⌋ · r      what requests of r bytes cannot use
//
//   holes 5, 4, 3:   r = 1 → 0   r = 2 → 2   r = 3 → 3   r = 4 → 4   r = 5 → 7   r = 6 → 12 = free
//
// The curve ignores the allocator's rules: the fit test (free_blocks.h) covers pools, streams and
// splitting. Cost: O(live + pieces), and O(distinct hole sizes) per point of the curve.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/layout/fragmentation.h"
#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

// Live blocks of at least `from_bytes` (a power of two; the first class begins at 0) and less than
// twice that.
struct SizeClass {
  uint64_t from_bytes = 0;
  uint64_t blocks = 0;
  uint64_t block_bytes = 0;
  uint64_t requested_bytes = 0;
  uint64_t waste_bytes = 0;  // block − requested
};

struct PoolRow {
  model::PoolId pool;
  uint64_t segments = 0;
  FragmentationSums sums;
  LayoutScore reserved;
  LayoutScore address;
};
inline constexpr size_t kMaxPoolRows = 16;

struct StrandedPoint {
  uint64_t request_bytes = 0;
  uint64_t stranded_bytes = 0;
};

struct FragmentationDetails {
  FragmentationSample sample;
  std::vector<PoolRow> pools;  // most reserved bytes first; at most kMaxPoolRows
  uint64_t pools_total = 0;
  std::vector<SizeClass> classes;       // of blocks inside segments, smallest first; none is empty
  std::vector<StrandedPoint> stranded;  // by request size; empty if nothing is free
};

FragmentationDetails fragmentationAt(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                     Step step, const FragmentationOptions& options);

// `points` sizes from 512 bytes to the sum of the holes, equally spaced in their logarithm, and
// every local maximum of the curve. A hole drops out one byte above its size, so each of the
// largest kMaxCorners holes has a point there.
std::vector<StrandedPoint> strandedCurve(std::vector<uint64_t> holes, size_t points = 240);

}  // namespace tidegauge::analysis
