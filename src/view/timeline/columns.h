// Columns of a picture: a range [x0, x1) of an axis cut into equal columns, and the states that
// each of them shows.
//
//   steps    0   1   2   3   4   5   6         step s begins at x = s and lasts to s + 1
//   columns  |       |       |       |         column 0 contains steps 0 and 1, …
//   sample     1       2       5               the step with most active bytes, so no peak is lost
//
// A column in which no step begins shows the state before it; one outside the recording is empty.
// On the time axis, a step begins at its time, and the recording ends 1 µs after its last event.
// Cost: O(columns × 256 + steps / 128).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::view {

using analysis::Step;
using model::kNoStep;

enum class Axis : uint8_t { kStep, kTime };

struct XRange {
  Axis axis = Axis::kStep;
  double x0 = 0;  // steps, or µs since the epoch
  double x1 = 0;
  uint32_t columns = 1;
};

// Finite, not empty, and small enough for exact arithmetic.
bool isUsable(const XRange& range);

struct ColumnState {
  analysis::Span span;    // over the states of the column
  Step sample = kNoStep;  // span.active_max_step; kNoStep outside the recording
};

// One per column. Samples never decrease; columns outside are at the ends.
std::vector<ColumnState> columnStates(const analysis::DeviceAnalysis& device, const XRange& range);

// The same samples without the other extremes, which a tile does not show.
struct ColumnPeak {
  uint64_t active_bytes = 0;  // at the sample
  Step sample = kNoStep;
};
std::vector<ColumnPeak> columnPeaks(const analysis::DeviceAnalysis& device, const XRange& range);

// Equal samples of neighbouring columns are merged: sample k is shown in columns [begin[k],
// begin[k+1]).
struct Samples {
  std::vector<Step> step;       // increasing
  std::vector<uint32_t> begin;  // one entry more than step
  size_t size() const { return step.size(); }
};
Samples samplesOf(const std::vector<ColumnPeak>& columns);

}  // namespace tidegauge::view
