#include "analysis/growth/wall.h"

#include <algorithm>
#include <vector>

#include "analysis/oom/oom_verdict.h"

namespace tidegauge::analysis {
namespace {

// `capacity_bytes`: if it is certain.
WallLine lineOf(const std::vector<double>& x, const std::vector<double>& y,
                std::optional<uint64_t> capacity_bytes) {
  WallLine line;
  line.now_bytes = static_cast<uint64_t>(y.back());
  line.bytes_per_event = theilSen(x, y, Neighbours::kAlikeNeighbours);
  if (capacity_bytes && line.now_bytes > *capacity_bytes)
    line.excess_bytes = line.now_bytes - *capacity_bytes;
  if (!capacity_bytes || !line.grows()) return line;
  double left = std::max(0.0, static_cast<double>(*capacity_bytes) - y.back());
  line.events_left = left / line.bytes_per_event.slope;
  line.events_left_least = left / line.bytes_per_event.high;
  line.events_left_most = left / line.bytes_per_event.low;
  return line;
}

// Where the newest growth that began late began.
std::optional<Step> lateBegin(const Growth& growth) {
  std::optional<Step> begin;
  for (const GrowingStack& stack : growth.stacks)
    if (stack.is_late) begin = std::max(begin, std::optional(stack.since_step));
  return begin;
}

}  // namespace

std::optional<uint64_t> ceilingOf(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  std::optional<uint64_t> ceiling;
  for (const OomReport& oom : oomsOf(analysed, device, 0)) {
    ceiling = std::max(ceiling, oom.ceilingBytes());  // absent counts as the least
  }
  return ceiling;
}

Wall wallOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
            std::optional<uint64_t> capacity_bytes, const Growth* growth) {
  Wall wall;
  wall.capacity_bytes = capacity_bytes;
  wall.capacity_source = CapacitySource::kGiven;
  if (!capacity_bytes) {
    wall.capacity_bytes = ceilingOf(analysed, device);
    wall.capacity_source =
        wall.capacity_bytes ? CapacitySource::kOutOfMemory : CapacitySource::kUnknown;
  }
  wall.unmapped_bytes = unmappedBytes(analysed, device, capacity_bytes);
  const TotalsIndex& totals = device.totals;
  uint64_t steps = device.clean_up_step;  // what is freed at the end is not a trend
  uint64_t slices = std::min<uint64_t>(kMaxWallSlices, steps / 4);
  uint64_t first = (slices + 4) / 5;
  if (slices - first < kMinWallSlices) return wall;
  std::optional<Step> late =
      growth != nullptr ? lateBegin(*growth) : lateBegin(findGrowth(analysed, device));
  if (late) {
    uint64_t after = (uint64_t{*late} * slices + steps - 1) / steps;  // begins there or later
    if (after > first && after + kMinWallSlices <= slices) {
      first = after;
      wall.since_step = late;
    }
  }
  std::vector<double> x;
  std::vector<double> active;
  std::vector<double> reserved;
  for (uint64_t i = first; i < slices; ++i) {
    auto begin = static_cast<Step>(i * steps / slices);
    auto end = static_cast<Step>((i + 1) * steps / slices);
    Span span = totals.span(begin, end);
    x.push_back(static_cast<double>(end - 1));
    active.push_back(static_cast<double>(span.active_max));
    reserved.push_back(static_cast<double>(span.reserved_max));
  }
  wall.enough = true;
  wall.slices = x.size();
  std::optional<uint64_t> certain;
  if (wall.unmapped_bytes == 0) certain = wall.capacity_bytes;
  wall.active = lineOf(x, active, certain);
  wall.reserved = lineOf(x, reserved, certain);
  auto begin = static_cast<Step>(first * steps / slices);
  int64_t from_us = device.time.timeOf(begin);
  int64_t to_us =
      steps == totals.steps() ? device.time.lastUs() : device.time.timeOf(device.clean_up_step - 1);
  if (device.time.present() && from_us != model::kNoTime && to_us > from_us) {
    wall.seconds_per_event = (static_cast<double>(to_us) - static_cast<double>(from_us)) / 1e6 /
                             static_cast<double>(steps - 1 - begin);
  }
  return wall;
}

}  // namespace tidegauge::analysis
