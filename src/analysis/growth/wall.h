// Time to the wall: when would memory reach the capacity, if it went on as it did?
//
//        capacity ··································   slope of the highest bytes of each slice
//                              ▁▂▃▄▅▆▇█ ╱             with a 90 % interval; "no growth" if that
//   high  ▂▃▄▅▆▇█▂▃▄▅▆▇█▃▄▅▆▇█▃▄▅▆▇█  ╱               holds 0
//         first fifth left out
//
// The recording is cut into 200 slices of equal numbers of events (fewer if it is short). What
// counts of a slice is its highest state: that is what meets the wall. A straight line is all this
// knows: it says nothing about what has not happened yet. What a program
// that ended gave back in its last clean-up (clean_up.h) is left out. Cost: O(slices² + slices ·
// 256 events).
#pragma once

#include <optional>

#include "analysis/trace/analysed_trace.h"
#include "analysis/trace/trend.h"

namespace tidegauge::analysis {

struct WallLine {
  uint64_t now_bytes = 0;  // the highest of the last slice
  Slope bytes_per_event;
  bool grows() const { return bytes_per_event.low > 0; }
  // Events until the capacity is reached at the slope, at the steep and at the flat end of its
  // interval. Absent: no growth, or no capacity. 0: it is reached already.
  std::optional<double> events_left;
  std::optional<double> events_left_least;
  std::optional<double> events_left_most;
};

// kRefused: memory was refused, and given back for another try, but nothing failed (what-if alone).
enum class CapacitySource : uint8_t { kUnknown, kGiven, kOutOfMemory, kRefused };

struct Wall {
  bool enough = false;  // at least kMinWallSlices slices; else nothing but the capacity is known
  size_t slices = 0;    // that were looked at, without the first fifth
  WallLine active;
  WallLine reserved;
  std::optional<uint64_t> capacity_bytes;
  CapacitySource capacity_source = CapacitySource::kUnknown;
  // Of the slices looked at; absent if the file has no times, or they stand still.
  std::optional<double> seconds_per_event;
};
inline constexpr size_t kMaxWallSlices = 200;
inline constexpr size_t kMinWallSlices = 10;

// Without a capacity: what an out-of-memory event says this process could have had at most.
Wall wallOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
            std::optional<uint64_t> capacity_bytes = std::nullopt);

// The largest reserved + free in the driver at an out-of-memory event of the device, if one says.
std::optional<uint64_t> ceilingOf(const AnalysedTrace& analysed, const DeviceAnalysis& device);

}  // namespace tidegauge::analysis
