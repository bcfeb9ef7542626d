// The memory after one step: every segment as a bar of blocks and free parts, grouped by pool and
// stream, and what keeps each segment from being returned to the driver.
//
//   pool default, stream 0                                   2 segments   40 MiB, 31 MiB free
//     s7f00…  [ block | free            | b | free     ]     pinned by 2 blocks
//     s7f80…  [ free                              ]          releasable: no block in it
//
// Only the segments of a viewport (offset, limit) include their parts, and parts narrower than a
// pixel are merged, so that an answer is bounded for any file. Cost: finding the live blocks
// (live_set.h) and sorting them by address; measured in bench/views_bench.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/layout/pinned.h"
#include "analysis/trace/analysed_trace.h"
#include "view/filter/filter_set.h"
#include "view/filter/mark_set.h"

namespace tidegauge::view {

using analysis::Step;

enum class StateSort : uint8_t { kAddress, kSize, kAge, kWaste, kPinned };
std::optional<StateSort> stateSortByName(std::string_view name);

struct StateQuestion {
  Step step = 0;
  StateSort sort = StateSort::kSize;
  bool grouped = true;  // by pool and stream
  size_t offset = 0;    // of the segments that include their parts
  size_t limit = 50;
  double pixel_bytes = 1;  // narrower parts are merged
  size_t most_parts = 8000;
  const MarkSet* mark = nullptr;
  const FilterSet* filter = nullptr;
};

using analysis::Pin;

struct SegmentSums {
  uint64_t owned_bytes = 0;  // live + free
  uint64_t live_bytes = 0;   // of blocks, including pending ones
  uint64_t requested_bytes = 0;
  uint64_t rounding_bytes = 0;  // of the blocks, not requested
  uint64_t pending_bytes = 0;   // freed, but waiting for other streams
  uint64_t free_bytes = 0;
  uint64_t largest_free_bytes = 0;
  uint64_t pinned_bytes = 0;         // free, but a live block keeps it
  uint64_t releasable_bytes = 0;     // free, and could be returned
  uint64_t held_in_pools_bytes = 0;  // free, but a private pool keeps it
  uint64_t blocks = 0;
  uint64_t free_parts = 0;
  uint64_t passing_bytes = 0;  // of the blocks that pass the filter
  void add(const SegmentSums& other);
};

struct StateSegment {
  model::SegmentId segment;  // invalid: blocks outside every known segment
  uint64_t address = 0;      // offset 0 of its parts
  uint64_t span_bytes = 0;   // from there to the end of its last part
  SegmentSums sums{};
  uint64_t pin_count = 0;
  std::vector<Pin> pins{};  // the largest pins, at most kMaxPins; only in the viewport
};
inline constexpr size_t kMaxPins = 5;

enum class PartKind : uint8_t { kLive, kPending, kFree, kUnmapped, kMerged };

struct StatePart {
  uint32_t segment = 0;  // index in State::segments
  uint32_t blocks = 0;   // live ones
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t rounding_bytes = 0;
  uint32_t row = UINT32_MAX;  // of the block; merged: of the largest; UINT32_MAX: none
  PartKind kind = PartKind::kLive;
  bool marked = false;
  bool filtered = false;  // no block of it passes the filter
};

struct StateGroup {
  model::PoolId pool;
  model::StreamId stream;
  bool known = true;  // false: blocks outside every known segment
  size_t first = 0;   // of its segments, in the order of the whole list
  size_t count = 0;
  SegmentSums sums;
};

struct State {
  Step step = 0;
  SegmentSums sums;  // of all segments
  std::vector<StateGroup> groups;
  size_t segments_total = 0;
  size_t offset = 0;
  uint64_t widest_bytes = 0;           // of all segments, not only of those listed
  std::vector<StateSegment> segments;  // of the viewport
  double pixel_bytes = 1;              // as used: raised if there were too many parts
  std::vector<StatePart> parts;        // by segment, then by offset
};

State stateAt(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
              const StateQuestion& question);

}  // namespace tidegauge::view
