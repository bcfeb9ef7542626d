#include "view/timeline/columns.h"

#include <algorithm>
#include <cmath>

namespace tidegauge::view {
namespace {

using analysis::DeviceAnalysis;

analysis::Span spanOf(const analysis::Totals& totals, Step step) {
  return {.active_min = totals.active_bytes,
          .active_max = totals.active_bytes,
          .reserved_min = totals.reserved_bytes,
          .reserved_max = totals.reserved_bytes,
          .requested_max = totals.requested_bytes,
          .allocated_max = totals.allocated_bytes,
          .active_max_step = step,
          .reserved_max_step = step,
          .requested_max_step = step};
}

// The first step that begins at or after x; the number of steps if there is none.
Step firstStepFrom(const DeviceAnalysis& device, Axis axis, double x) {
  double up = std::ceil(x);
  if (axis == Axis::kTime) return device.time.stepAtOrAfter(static_cast<int64_t>(up));
  return static_cast<Step>(std::clamp(up, 0.0, static_cast<double>(device.totals.steps())));
}

// The end of the last state.
double endOf(const DeviceAnalysis& device, Axis axis) {
  if (axis == Axis::kTime) return static_cast<double>(device.time.lastUs()) + 1;
  return std::max(1.0, static_cast<double>(device.totals.steps()));
}

// Calls begun(c, begin, end) for each column in which the steps [begin, end) begin. Calls
// held(c, step) for each that shows the state after an earlier step.
template <class Begun, class Held>
void forEachColumn(const DeviceAnalysis& device, const XRange& range, Begun&& begun, Held&& held) {
  if (range.axis == Axis::kTime && !device.time.present()) return;
  double width = (range.x1 - range.x0) / range.columns;
  double end_x = endOf(device, range.axis);
  Step begin = firstStepFrom(device, range.axis, range.x0);
  for (uint32_t c = 0; c < range.columns; ++c) {
    double next_x = c + 1 == range.columns ? range.x1 : range.x0 + width * (c + 1);
    Step end = firstStepFrom(device, range.axis, next_x);
    if (begin < end) {
      begun(c, begin, end);
    } else if (begin > 0 && range.x0 + width * c < end_x) {
      held(c, begin - 1);
    }
    begin = end;
  }
}

// A file without events has one state: the final one, drawn over [0, 1) of the step axis. Calls
// only(c) for its columns.
template <class Only>
void forEachOfOnlyState(const XRange& range, Only&& only) {
  if (range.axis == Axis::kTime) return;
  double width = (range.x1 - range.x0) / range.columns;
  for (uint32_t c = 0; c < range.columns; ++c) {
    double x = range.x0 + width * c;
    if (x < 1 && x + width > 0) only(c);
  }
}

}  // namespace

bool isUsable(const XRange& range) {
  constexpr double kMost = 9007199254740992.0;  // 2^53: integers are exact up to here
  return std::isfinite(range.x0) && std::isfinite(range.x1) && range.x0 < range.x1 &&
         range.columns > 0 && std::abs(range.x0) <= kMost && std::abs(range.x1) <= kMost &&
         (range.x1 - range.x0) / range.columns > 0;
}

std::vector<ColumnState> columnStates(const DeviceAnalysis& device, const XRange& range) {
  std::vector<ColumnState> columns(range.columns);
  if (device.totals.steps() == 0) {
    forEachOfOnlyState(range, [&](uint32_t c) {
      columns[c] = {spanOf(device.totals.initial(), 0), 0};
    });
    return columns;
  }
  Step held = kNoStep;  // the step of the state in `holding`
  analysis::Span holding;
  forEachColumn(
      device, range,
      [&](uint32_t c, Step begin, Step end) {
        columns[c].span = device.totals.span(begin, end);
        columns[c].sample = columns[c].span.active_max_step;
      },
      [&](uint32_t c, Step step) {
        if (held != step) holding = spanOf(device.totals.at(step), step);
        held = step;
        columns[c] = {holding, step};
      });
  return columns;
}

std::vector<ColumnPeak> columnPeaks(const DeviceAnalysis& device, const XRange& range) {
  std::vector<ColumnPeak> columns(range.columns);
  if (device.totals.steps() == 0) {
    forEachOfOnlyState(range, [&](uint32_t c) {
      columns[c] = {device.totals.initial().active_bytes, 0};
    });
    return columns;
  }
  ColumnPeak holding;
  forEachColumn(
      device, range,
      [&](uint32_t c, Step begin, Step end) {
        analysis::ActivePeak peak = device.totals.highestActive(begin, end);
        columns[c] = {peak.bytes, peak.step};
      },
      [&](uint32_t c, Step step) {
        if (holding.sample != step) holding = {device.totals.at(step).active_bytes, step};
        columns[c] = holding;
      });
  return columns;
}

Samples samplesOf(const std::vector<ColumnPeak>& columns) {
  Samples samples;
  uint32_t end = 0;
  for (uint32_t c = 0; c < columns.size(); ++c) {
    if (columns[c].sample == kNoStep) continue;
    end = c + 1;
    if (!samples.step.empty() && samples.step.back() == columns[c].sample) continue;
    samples.step.push_back(columns[c].sample);
    samples.begin.push_back(c);
  }
  if (!samples.step.empty()) samples.begin.push_back(end);
  return samples;
}

}  // namespace tidegauge::view
