// Time to the wall: when would memory reach the capacity, if its growth continued?
//
//        capacity ··································   slope of the highest bytes of each slice
//                              ▁▂▃▄▅▆▇█ ╱             with a 90 % interval; "no growth" if that
//   high  ▂▃▄▅▆▇█▂▃▄▅▆▇█▃▄▅▆▇█▃▄▅▆▇█  ╱               includes 0
//         first fifth left out
//
// The recording is cut into 200 slices of equal numbers of events (fewer if it is short). Each
// slice counts with its highest state, since that reaches the wall. The forecast is a straight
// line: it knows nothing about events that have not happened yet. What an ended program freed in
// its last clean-up (clean_up.h) is left out.
//
// If a stack began to grow late (late_growth.h), only the slices after that begin count: the flat
// part before would make the slope too small and the time too long.
//
// If a MemPool's memory may be unmapped, the capacity is an upper bound, and no time is stated.
// Cost: O(slices² + slices · 256 events), and that of findGrowth() unless the caller has it.
#pragma once

#include <optional>

#include "analysis/growth/growth.h"
#include "analysis/trace/analysed_trace.h"
#include "analysis/trace/trend.h"

namespace tidegauge::analysis {

struct WallLine {
  uint64_t now_bytes = 0;  // the highest of the last slice
  Slope bytes_per_event;
  bool grows() const { return bytes_per_event.low > 0; }
  // Of now_bytes; absent: no capacity, or it is not exceeded. Of a capacity that is certain.
  std::optional<uint64_t> excess_bytes;
  // Events until the capacity is reached: at the slope, and at the steep and the flat end of its
  // interval. Absent: no growth, or no capacity that is certain. 0: it is reached already.
  std::optional<double> events_left;
  std::optional<double> events_left_least;
  std::optional<double> events_left_most;
};

// What-if alone has the last two. kRefused: the driver refused memory, a retry succeeded, and
// nothing failed. kRecorded: the user gave the recorded device; kGiven is the one asked about.
enum class CapacitySource : uint8_t { kUnknown, kGiven, kOutOfMemory, kRefused, kRecorded };

struct Wall {
  bool enough = false;  // at least kMinWallSlices slices; if not, only the capacity is known
  size_t slices = 0;    // slices used, without the first fifth
  WallLine active;
  WallLine reserved;
  std::optional<uint64_t> capacity_bytes;
  CapacitySource capacity_source = CapacitySource::kUnknown;
  // Live bytes of MemPools that may be unmapped (unmappedBytes()): above 0, reserved and capacity
  // are upper bounds.
  uint64_t unmapped_bytes = 0;
  std::optional<Step> since_step;  // the late growth begins here, and so does the line
  // Over the slices used; absent if the file has no times, or they do not advance.
  std::optional<double> seconds_per_event;
};
inline constexpr size_t kMaxWallSlices = 200;
inline constexpr size_t kMinWallSlices = 10;

// Without a capacity: the ceiling that an out-of-memory event shows for this process. `growth`:
// findGrowth() of this device, if the caller has it.
Wall wallOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
            std::optional<uint64_t> capacity_bytes = std::nullopt, const Growth* growth = nullptr);

// The largest reserved + free in the driver at an out-of-memory event of the device, if any.
std::optional<uint64_t> ceilingOf(const AnalysedTrace& analysed, const DeviceAnalysis& device);

}  // namespace tidegauge::analysis
