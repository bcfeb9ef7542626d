// Fragmentation over time against the plain way: at each sample the whole state afresh, from the
// lives alone (support/slow_layout.h), with no memory of the sample before.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "analysis/layout/fragmentation_details.h"
#include "analysis/layout/fragmentation_series.h"
#include "analysis/trace/analysed_trace.h"
#include "readers/torch/unpack/open_snapshots.h"
#include "support/messy_trace.h"
#include "support/simulated_heap.h"
#include "support/slow_layout.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::FragmentationSample;
using analysis::FragmentationSeries;
using analysis::FragmentationSums;
using analysis::LayoutScore;
using analysis::Step;

struct Slow {
  FragmentationSums sums;
  uint64_t outside_blocks = 0;
  LayoutScore reserved;
  LayoutScore address;
  std::vector<uint64_t> holes;
};

// Whole pages of a segment inside the hole, page by page.
uint64_t pagesIn(const model::Trace& trace, model::SegmentId segment,
                 const testing::SlowHole& hole) {
  uint64_t page =
      trace.segments.small_pool[segment.index()] ? uint64_t{2} << 20 : uint64_t{20} << 20;
  uint64_t base = trace.segments.address[segment.index()];
  uint64_t bytes = 0;
  for (uint64_t at = (hole.begin - base) / page * page; at + page <= hole.end - base; at += page) {
    if (at >= hole.begin - base) bytes += page;
  }
  return bytes;
}

Slow slowly(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step,
            uint64_t request_bytes, model::PoolId pool) {
  const model::Trace& trace = analysed.trace;
  EXPECT_EQ(trace.settings.conf.find("large_segment_size_mb"), std::string::npos);
  testing::SlowLayout layout = testing::slowLayout(trace, device.device, step);
  Slow slow;
  struct OfSegment {
    std::vector<testing::SlowHole> holes;
    bool live = false;
  };
  std::map<uint32_t, OfSegment> segments;
  std::vector<uint64_t> sizes, gaps;
  uint64_t pool_bytes = 0;
  auto inPool = [&](size_t range) {
    return testing::slowPool(trace, layout.owned[range].segment) == pool;
  };
  for (const testing::SlowBlock& block : layout.blocks) {
    if (block.range == SIZE_MAX) {
      slow.outside_blocks++;
      continue;
    }
    segments[layout.owned[block.range].segment.value].live = true;
    uint64_t bytes = trace.allocations.block_bytes[block.row];
    slow.sums.blocks++;
    slow.sums.covered_bytes += block.covered_bytes;
    slow.sums.waste_bytes += bytes - std::min(bytes, trace.allocations.requested_bytes[block.row]);
    if (inPool(block.range)) sizes.push_back(block.covered_bytes);
  }
  analysis::FreeSums& free = slow.sums.free;
  for (const testing::SlowHole& hole : layout.holes) {
    segments[layout.owned[hole.range].segment.value].holes.push_back(hole);
    slow.holes.push_back(hole.bytes());
    if (inPool(hole.range)) gaps.push_back(hole.bytes());
    uint64_t served =
        request_bytes == 0 ? hole.bytes() : hole.bytes() / request_bytes * request_bytes;
    free.stranded_bytes += hole.bytes() - served;
    free.bytes += hole.bytes();
    free.holes++;
    free.largest_bytes = std::max(free.largest_bytes, hole.bytes());
  }
  for (const auto& [id, of] : segments) {
    model::SegmentId segment(id);
    bool pages = trace.segments.kind[segment.index()] == model::SegmentKind::kExpandable;
    uint64_t bytes = 0, largest = 0, whole = 0;
    for (const testing::SlowHole& hole : of.holes) {
      bytes += hole.bytes();
      largest = std::max(largest, hole.bytes());
      if (pages) whole += pagesIn(trace, segment, hole);
    }
    uint64_t releasable = of.live ? whole : bytes;
    free.segment_largest_bytes += largest;
    model::PoolId pool = trace.segments.pool[segment.index()];
    bool is_private = pool.valid() && pool.value != 0;
    (is_private ? free.held_in_pools_bytes : free.releasable_bytes) += releasable;
    free.pinned_bytes += bytes - releasable;
    free.pinned_segments += releasable < bytes;
  }
  std::vector<uint64_t> owned_sizes, owned_gaps;
  std::vector<size_t> of_pool;
  for (size_t i = 0; i < layout.owned.size(); ++i) {
    slow.sums.reserved_bytes += layout.owned[i].end - layout.owned[i].begin;
    if (inPool(i)) of_pool.push_back(i);
  }
  uint64_t span = 0;
  if (!of_pool.empty()) {
    span = layout.owned[of_pool.back()].end - layout.owned[of_pool.front()].begin;
    for (size_t i : of_pool) {
      owned_sizes.push_back(layout.owned[i].end - layout.owned[i].begin);
      pool_bytes += owned_sizes.back();
    }
    for (size_t i = of_pool.front(); i < of_pool.back(); ++i) {
      if (layout.owned[i + 1].begin > layout.owned[i].end) {
        owned_gaps.push_back(layout.owned[i + 1].begin - layout.owned[i].end);
      }
    }
  }
  slow.reserved = analysis::layoutScore(sizes, gaps, pool_bytes);
  slow.address = analysis::layoutScore(owned_sizes, owned_gaps, span);
  return slow;
}

void expectSame(const LayoutScore& got, const LayoutScore& want) {
  std::array<double, 6> features = analysis::featuresOf(got);
  std::array<double, 6> wanted = analysis::featuresOf(want);
  for (size_t i = 0; i < features.size(); ++i) {
    EXPECT_NEAR(features[i], wanted[i], 1e-9) << analysis::kFeatureNames[i];
  }
  EXPECT_NEAR(got.score, want.score, 1e-7);
}

// `well_formed`: every block in a segment, no overlaps; then the totals agree.
void compare(const AnalysedTrace& analysed, const DeviceAnalysis& device, size_t samples,
             bool well_formed) {
  FragmentationSeries series =
      analysis::fragmentationSeries(analysed, device, {.samples = samples});
  ASSERT_FALSE(series.samples.empty());
  for (const FragmentationSample& sample : series.samples) {
    SCOPED_TRACE(::testing::Message() << "step " << sample.step);
    Slow slow = slowly(analysed, device, sample.step, series.request_bytes, series.pool);
    ASSERT_EQ(sample.sums, slow.sums);
    EXPECT_EQ(sample.outside_blocks, slow.outside_blocks);
    expectSame(sample.reserved, slow.reserved);
    expectSame(sample.address, slow.address);
    EXPECT_EQ(sample.sums.reserved_bytes, sample.sums.covered_bytes + sample.sums.free.bytes);
    EXPECT_EQ(sample.sums.free.bytes, sample.sums.free.pinned_bytes +
                                          sample.sums.free.releasable_bytes +
                                          sample.sums.free.held_in_pools_bytes);
    EXPECT_EQ(sample.totals, device.totals.at(sample.step));
    if (well_formed) {
      EXPECT_EQ(sample.sums.reserved_bytes, sample.totals.reserved_bytes);
      EXPECT_EQ(sample.sums.covered_bytes, sample.totals.active_bytes);
    }
  }
}

// Pools add up to the device, classes to the blocks, and the curve is the sum over the holes.
void compareDetails(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step) {
  uint64_t request = analysis::typicalRequest(analysed.trace, device.device);
  model::PoolId pool = analysis::mainPool(analysed.trace, device.device);
  analysis::FragmentationDetails details =
      analysis::fragmentationAt(analysed, device, step, {.request_bytes = request, .pool = pool});
  Slow slow = slowly(analysed, device, details.sample.step, request, pool);
  EXPECT_EQ(details.sample.sums, slow.sums);
  uint64_t reserved = 0, free = 0, pinned = 0, blocks = 0, waste = 0;
  for (const analysis::PoolRow& row : details.pools) {
    reserved += row.sums.reserved_bytes;
    free += row.sums.free.bytes;
    pinned += row.sums.free.pinned_bytes;
    if (row.pool == pool) expectSame(row.reserved, slow.reserved);
  }
  if (details.pools_total == details.pools.size()) {
    EXPECT_EQ(reserved, slow.sums.reserved_bytes);
    EXPECT_EQ(free, slow.sums.free.bytes);
    EXPECT_EQ(pinned, slow.sums.free.pinned_bytes);
  }
  for (const analysis::SizeClass& row : details.classes) {
    EXPECT_GT(row.blocks, 0);
    EXPECT_EQ(row.block_bytes - row.requested_bytes, row.waste_bytes);
    blocks += row.blocks;
    waste += row.waste_bytes;
  }
  EXPECT_EQ(blocks, slow.sums.blocks);
  EXPECT_EQ(waste, slow.sums.waste_bytes);
  if (slow.sums.free.bytes == 0) {
    EXPECT_TRUE(details.stranded.empty());
    return;
  }
  uint64_t before = 0;
  for (const analysis::StrandedPoint& point : details.stranded) {
    EXPECT_GT(point.request_bytes, before);
    before = point.request_bytes;
    uint64_t served = 0;
    for (uint64_t hole : slow.holes) served += hole / point.request_bytes * point.request_bytes;
    EXPECT_EQ(point.stranded_bytes, slow.sums.free.bytes - served) << point.request_bytes;
  }
  EXPECT_EQ(details.stranded.back().request_bytes, slow.sums.free.bytes);
}

TEST(FragmentationTwin, EqualsTheStateAfreshOnRandomHeaps) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    testing::HeapOptions options{.seed = seed, .events = 500, .expandable = seed % 2 == 0};
    if (seed % 3 == 0) options.drop_first = 150;
    AnalysedTrace analysed(testing::simulate(options).trace);
    const DeviceAnalysis& device = *analysed.devices[0];
    compare(analysed, device, seed % 4 == 0 ? 10'000 : 37, options.drop_first == 0);
    for (Step step = 0; step < device.totals.steps(); step += 97) {
      compareDetails(analysed, device, step);
    }
  }
}

TEST(FragmentationTwin, EqualsTheStateAfreshOnContradictoryTraces) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    AnalysedTrace analysed(testing::messyTrace({.seed = seed, .events = 150}));
    for (const auto& device : analysed.devices) {
      compare(analysed, *device, 29, false);
      compareDetails(analysed, *device, 70);
    }
  }
}

// Any 64-bit sizes and addresses: sums may wrap around, nothing may fail.
TEST(FragmentationTwin, NothingFailsOnWildTraces) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    AnalysedTrace analysed(testing::messyTrace({.seed = seed, .events = 150, .wild = true}));
    for (const auto& device : analysed.devices) {
      FragmentationSeries series = analysis::fragmentationSeries(analysed, *device, {});
      for (const FragmentationSample& sample : series.samples) {
        EXPECT_GE(sample.reserved.score, 0);
        EXPECT_LE(sample.reserved.score, 100);
      }
      analysis::fragmentationAt(analysed, *device, 100, {.request_bytes = 4096});
    }
  }
}

TEST(FragmentationTwin, EqualsTheStateAfreshOnRealFiles) {
  const char* shared = std::getenv("TIDEGAUGE_SHARED");
  std::filesystem::path folder = std::filesystem::path(shared ? shared : "") / "data/snapshots";
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "no real snapshots: TIDEGAUGE_SHARED names the folder that has them";
  }
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".zst") continue;
    auto read = readers::torch::openSnapshots(entry.path().string(), {});
    if (!read.ok()) continue;
    for (model::Trace& trace : read.value()) {
      SCOPED_TRACE(entry.path().filename().string());
      ++files;
      AnalysedTrace analysed(std::move(trace));
      for (const auto& device : analysed.devices) {
        compare(analysed, *device, 5, false);
        compareDetails(analysed, *device, device->totals.steps() / 2);
      }
    }
  }
  EXPECT_GT(files, 5);
}

}  // namespace
}  // namespace tidegauge
