#include "analysis/layout/fragmentation_details.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

namespace tidegauge::analysis {
namespace {

constexpr uint64_t kLeastRequest = 512;
constexpr size_t kMostCorners = 60;

struct Holes {  // of one size
  uint64_t bytes = 0;
  uint64_t count = 0;
};

std::vector<Holes> distinct(std::vector<uint64_t> holes) {
  std::sort(holes.begin(), holes.end());
  std::vector<Holes> sizes;
  for (uint64_t bytes : holes) {
    if (sizes.empty() || sizes.back().bytes != bytes) sizes.push_back({bytes, 0});
    sizes.back().count++;
  }
  return sizes;
}

uint64_t strandedOf(const std::vector<Holes>& sizes, uint64_t request_bytes) {
  uint64_t stranded = 0;
  for (const Holes& size : sizes) stranded += strandedBytes(size.bytes, request_bytes) * size.count;
  return stranded;
}

// The class of blocks of up to 512 bytes begins at 0.
uint64_t classOf(uint64_t block_bytes) {
  return block_bytes < kLeastRequest ? 0 : std::bit_floor(block_bytes);
}

}  // namespace

std::vector<StrandedPoint> strandedCurve(std::vector<uint64_t> holes, size_t points) {
  uint64_t free_bytes = 0;
  for (uint64_t bytes : holes) free_bytes += bytes;
  if (free_bytes == 0) return {};
  std::vector<Holes> sizes = distinct(std::move(holes));
  std::vector<uint64_t> requests = {std::min(kLeastRequest, free_bytes), free_bytes};
  double ratio = static_cast<double>(free_bytes) / static_cast<double>(kLeastRequest);
  for (size_t i = 1; i + 1 < points && ratio > 1; ++i) {
    double share = static_cast<double>(i) / static_cast<double>(points - 1);
    double bytes = static_cast<double>(kLeastRequest) * std::pow(ratio, share);
    auto rounded = static_cast<uint64_t>(bytes) / kLeastRequest * kLeastRequest;
    requests.push_back(std::clamp(rounded, kLeastRequest, free_bytes));
  }
  // The curve jumps where a request becomes larger than a hole.
  size_t corners = std::min(kMostCorners, sizes.size());
  for (auto hole = sizes.rbegin(); hole != sizes.rbegin() + static_cast<ptrdiff_t>(corners);
       ++hole) {
    if (hole->bytes < kLeastRequest) break;
    requests.push_back(hole->bytes);
    if (hole->bytes < free_bytes) requests.push_back(hole->bytes + 1);
  }
  std::sort(requests.begin(), requests.end());
  requests.erase(std::unique(requests.begin(), requests.end()), requests.end());
  std::vector<StrandedPoint> curve;
  curve.reserve(requests.size());
  for (uint64_t request : requests) curve.push_back({request, strandedOf(sizes, request)});
  return curve;
}

FragmentationDetails fragmentationAt(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                     Step step, const FragmentationOptions& options) {
  const model::Trace& trace = analysed.trace;
  FragmentationDetails details;
  LayoutCursor cursor(trace, device.device, device.live);
  cursor.advanceTo(step);
  details.sample = FragmentationGauge(trace, device.device, options).read(cursor);
  details.sample.step = std::min(step, std::max<Step>(device.device.steps(), 1) - 1);
  details.sample.totals = device.totals.at(details.sample.step);

  std::map<uint64_t, SizeClass> classes;
  std::vector<uint64_t> holes;
  walkOwned(
      cursor, [](const OwnedNow&) { return true; },
      [&](const OwnedNow&, const LiveBlock& block, uint64_t) {
        SizeClass& row = classes[classOf(block.block_bytes)];
        uint64_t used = std::min(block.block_bytes, block.requested_bytes);
        row.blocks++;
        row.block_bytes += block.block_bytes;
        row.requested_bytes += used;
        row.waste_bytes += block.block_bytes - used;
      },
      [&](const OwnedNow&, uint64_t begin, uint64_t end) { holes.push_back(end - begin); });
  for (auto& [from_bytes, row] : classes) {
    row.from_bytes = from_bytes;
    details.classes.push_back(row);
  }
  details.stranded = strandedCurve(std::move(holes));

  struct Held {
    uint64_t bytes = 0;
    uint64_t segments = 0;
  };
  std::map<model::PoolId, Held> held;
  std::vector<model::SegmentId> seen;
  for (const OwnedNow& range : cursor.owned()) {
    held[poolOf(trace, range.segment)].bytes += range.end - range.begin;
    seen.push_back(range.segment);
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (model::SegmentId segment : seen) held[poolOf(trace, segment)].segments++;
  details.pools_total = held.size();
  std::vector<std::pair<model::PoolId, Held>> order(held.begin(), held.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& x, const auto& y) { return x.second.bytes > y.second.bytes; });
  order.resize(std::min(order.size(), kMostPoolRows));
  for (const auto& [pool, of_pool] : order) {
    FragmentationOptions alone = options;
    alone.pool = pool;
    alone.pool_only = true;
    FragmentationSample sample = FragmentationGauge(trace, device.device, alone).read(cursor);
    details.pools.push_back({pool, of_pool.segments, sample.sums, sample.reserved, sample.address});
  }
  return details;
}

}  // namespace tidegauge::analysis
