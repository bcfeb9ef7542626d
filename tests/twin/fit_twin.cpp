// The fit test against a step-by-step execution of the allocator's rules (docs/explain/oom.md,
// PyTorch's CUDACachingAllocator): round the request, choose the pool, walk its free blocks in
// their order, apply the oversize rules. The free blocks are derived from the lives
// (support/slow_layout.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "analysis/layout/free_blocks.h"
#include "analysis/trace/analysed_trace.h"
#include "readers/torch/unpack/open_snapshots.h"
#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/simulated_heap.h"
#include "support/slow_layout.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::FreeListKey;
using analysis::Step;

constexpr uint64_t kEndless = UINT64_MAX;

// 512 bytes at least; then by the divisions of its power of two, else in whole 512 bytes.
uint64_t roundedBytes(const model::AllocatorSettings& settings, uint64_t request) {
  if (request < 512) return 512;
  size_t size_class = 0;  // 0: below 2 MiB; i: from 2^(20 + i)
  while (size_class < 15 && request >> (21 + size_class) != 0) ++size_class;
  uint64_t divisions = settings.roundup_power2_divisions[size_class];
  if (divisions > 1 && request > 512 * divisions) {
    uint64_t floor = 1;
    while (floor * 2 <= request) floor *= 2;
    if (floor == request) return request;
    uint64_t step = floor / divisions;
    return (request + step - 1) / step * step;
  }
  return (request + 511) / 512 * 512;
}

struct SlowFree {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t growable = 0;  // including the unmapped range right after it
  bool expandable = false;
};
using SlowLists = std::map<FreeListKey, std::vector<SlowFree>>;  // by size, then by address

SlowLists slowLists(const model::Trace& trace, const testing::SlowLayout& layout) {
  SlowLists lists;
  const model::Segments& segments = trace.segments;
  for (const testing::SlowRange& range : layout.owned) {
    size_t row = range.segment.index();
    lists[{segments.small_pool[row], testing::slowPool(trace, range.segment),
           segments.stream[row]}];
  }
  for (const testing::SlowHole& hole : layout.holes) {
    const testing::SlowRange& range = layout.owned[hole.range];
    size_t row = range.segment.index();
    SlowFree free{hole.begin, hole.bytes(), hole.bytes(), false};
    free.expandable = segments.kind[row] == model::SegmentKind::kExpandable;
    if (free.expandable && hole.end == range.end) {
      uint64_t next = kEndless;  // where the reservation is mapped again
      for (const testing::SlowRange& other : layout.owned) {
        bool behind = other.segment == range.segment && other.begin >= range.end;
        if (behind) next = std::min(next, other.begin);
      }
      free.growable = next == kEndless ? kEndless : hole.bytes() + (next - hole.end);
    }
    lists[{segments.small_pool[row], testing::slowPool(trace, range.segment), segments.stream[row]}]
        .push_back(free);
  }
  for (auto& [key, list] : lists) {
    std::sort(list.begin(), list.end(), [](const SlowFree& x, const SlowFree& y) {
      return std::tie(x.bytes, x.address) < std::tie(y.bytes, y.address);
    });
  }
  return lists;
}

bool expandableIsOn(const model::Trace& trace) {
  if (trace.settings.present) return trace.settings.expandable_segments;
  const auto& kinds = trace.segments.kind;
  return std::find(kinds.begin(), kinds.end(), model::SegmentKind::kExpandable) != kinds.end();
}

// The allocator's search, step by step.
const SlowFree* slowFit(const model::Trace& trace, const std::vector<SlowFree>& list, bool small,
                        uint64_t request) {
  uint64_t rounded = roundedBytes(trace.settings, request);
  if ((rounded <= kMiB) != small) return nullptr;
  size_t at = 0;
  while (at < list.size() && list[at].bytes < rounded) ++at;
  if (at == list.size()) return nullptr;
  if (expandableIsOn(trace)) {
    // Rather a slightly larger hole than an end that can still grow.
    while (list[at].expandable && at + 1 < list.size() &&
           list[at + 1].growable < list[at].growable) {
      ++at;
    }
  } else {
    while (at < list.size() && list[at].expandable) ++at;
    if (at == list.size()) return nullptr;
  }
  const SlowFree& found = list[at];
  uint64_t limit = trace.settings.max_split_bytes;
  if (rounded < limit && found.bytes >= limit) return nullptr;
  if (rounded >= limit && found.bytes >= rounded + 20 * kMiB) return nullptr;
  return &found;
}

// Around every size that can turn an answer: the holes, the two pools, the split limit.
std::set<uint64_t> requestsAround(const model::Trace& trace, const SlowLists& lists,
                                  std::mt19937_64& random) {
  std::set<uint64_t> sizes = {1, 512, kMiB, 2 * kMiB, 10 * kMiB, 20 * kMiB};
  uint64_t limit = trace.settings.max_split_bytes;
  if (limit != model::kUnknownBytes) sizes.insert(limit);
  for (const auto& [key, list] : lists) {
    size_t every = list.size() / 40 + 1;
    for (size_t i = 0; i < list.size(); i += every) {
      sizes.insert(list[i].bytes);
      if (list[i].bytes > 20 * kMiB) sizes.insert(list[i].bytes - 20 * kMiB);
    }
  }
  std::set<uint64_t> requests;
  for (uint64_t size : sizes) {
    for (uint64_t request : {size, size + 1, size + 512, size - 1, size - 511, size - 512}) {
      if (request > 0 && request < (uint64_t{1} << 50)) requests.insert(request);
    }
  }
  for (int i = 0; i < 20; ++i) requests.insert(1 + random() % (uint64_t{1} << (10 + i)));
  return requests;
}

void compare(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step,
             std::mt19937_64& random) {
  SCOPED_TRACE(::testing::Message() << "step " << step);
  const model::Trace& trace = analysed.trace;
  ASSERT_EQ(trace.settings.conf.find("max_non_split_rounding_mb"), std::string::npos);
  ASSERT_EQ(trace.settings.conf.find("large_segment_size_mb"), std::string::npos);
  analysis::FreeBlocks free = analysis::freeBlocksAt(analysed, device, step);
  SlowLists lists = slowLists(trace, testing::slowLayout(trace, device.device, step));
  ASSERT_EQ(free.lists.size(), lists.size());
  std::set<uint64_t> requests = requestsAround(trace, lists, random);
  for (const auto& [key, list] : lists) {
    const analysis::FreeList* got = free.find(key);
    ASSERT_NE(got, nullptr);
    uint64_t bytes = 0;
    for (const SlowFree& block : list) bytes += block.bytes;
    EXPECT_EQ(got->bytes, bytes);
    ASSERT_EQ(got->blocks.size(), list.size());
    uint64_t largest = analysis::largestRequest(free.rules, *got);
    if (largest > 0) {
      EXPECT_NE(slowFit(trace, list, key.small, largest), nullptr) << largest;
    }
    for (uint64_t request : requests) {
      const analysis::FreeBlock* block = analysis::fit(free.rules, *got, request);
      const SlowFree* slow = slowFit(trace, list, key.small, request);
      ASSERT_EQ(block != nullptr, slow != nullptr) << request;
      bool own = (roundedBytes(trace.settings, request) <= kMiB) == key.small;
      if (own) {
        ASSERT_EQ(block, analysis::fit(free, request, key.pool, key.stream));
      }
      if (slow == nullptr) continue;
      ASSERT_EQ(block->address, slow->address) << request;
      ASSERT_EQ(block->size_bytes, slow->bytes) << request;
      EXPECT_LE(request, largest) << "a larger one would have been served";
    }
  }
  for (uint64_t request : requests) {
    uint64_t stranded = 0;
    for (const auto& [key, list] : lists) {
      for (const SlowFree& block : list) {
        stranded += block.bytes - block.bytes / request * request;
      }
    }
    ASSERT_EQ(analysis::strandedBytes(free, request), stranded) << request;
  }
}

// Pools, streams, size classes and kinds at random: the search must keep to its own list.
void scatter(model::Trace& trace, std::mt19937_64& random) {
  model::Segments& segments = trace.segments;
  for (size_t i = 0; i < segments.size(); ++i) {
    segments.stream[i] = model::StreamId(static_cast<uint16_t>(random() % 2));
    segments.pool[i] = random() % 4 == 0   ? model::PoolId(1)
                       : random() % 4 == 0 ? model::PoolId()
                                           : model::PoolId(0);
    if (random() % 3 == 0) segments.kind[i] = model::SegmentKind::kExpandable;
  }
}

void configure(model::AllocatorSettings& settings, uint64_t seed) {
  settings.present = seed % 5 != 0;
  settings.expandable_segments = seed % 2 == 0;
  constexpr uint64_t kLimits[] = {model::kUnknownBytes, 4 * kMiB, 21 * kMiB, 64 * kKiB};
  settings.max_split_bytes = kLimits[seed % 4];
  constexpr uint32_t kDivisions[] = {0, 1, 2, 8};
  settings.roundup_power2_divisions.fill(kDivisions[seed / 4 % 4]);
}

TEST(FitTwin, ServesWhatTheRulesServeOnRandomHeaps) {
  for (uint64_t seed = 1; seed <= 48; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    testing::HeapOptions options{.seed = seed, .events = 400, .expandable = seed % 3 == 0};
    if (seed % 7 == 0) options.drop_first = 120;
    model::Trace trace = testing::simulate(options).trace;
    configure(trace.settings, seed);
    if (seed % 2 == 1) scatter(trace, random);
    AnalysedTrace analysed(std::move(trace));
    const DeviceAnalysis& device = *analysed.devices[0];
    for (Step step = 30; step < device.totals.steps(); step += 83) {
      compare(analysed, device, step, random);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(FitTwin, ServesWhatTheRulesServeOnContradictoryTraces) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    model::Trace trace = testing::messyTrace({.seed = seed, .events = 150});
    configure(trace.settings, seed);
    AnalysedTrace analysed(std::move(trace));
    for (const auto& device : analysed.devices) {
      compare(analysed, *device, 70, random);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(FitTwin, ServesWhatTheRulesServeOnRealFiles) {
  const char* shared = std::getenv("TIDEGAUGE_SHARED");
  std::filesystem::path folder = std::filesystem::path(shared ? shared : "") / "data/snapshots";
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "no real snapshots: TIDEGAUGE_SHARED names the folder that has them";
  }
  std::mt19937_64 random(1);
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
        if (device->device.kind != model::DeviceKind::kGpu) continue;
        Step steps = device->totals.steps();
        for (Step step : {steps / 3, device->totals.peakReserved().step, steps}) {
          compare(analysed, *device, step, random);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(files, 5);
}

}  // namespace
}  // namespace tidegauge
