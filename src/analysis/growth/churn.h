// Churn: memory that is allocated only to be freed again soon.
//
//   alloc a · alloc b · free b · alloc c · free a · free c
//   b: freed before anything else was allocated   0 later allocations  a temporary of 1, 10 and 100
//   a: b and c were allocated meanwhile           2 later allocations  a temporary of 10 and 100
//
// The age of a block is counted in later allocations of its device, not in time: that is how many
// others could have used its place. Freed = free_completed, as everywhere. What a program frees in
// its last clean-up (clean_up.h) was not freed soon: it was kept to the end. The report, the tables
// and the flame graph share this definition (the flame graph has no limit but its range).
// Cost: one pass over the events, 4 bytes per life while it runs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/trace/sample_points.h"

namespace tidegauge::analysis {

inline constexpr std::array<uint64_t, 3> kChurnWindows = {1, 10, 100};
inline constexpr size_t kChurnSlices = 24;

// Allocated and freed within the recording, before a clean-up at its end: churn consists of these.
bool isFreed(const model::Trace& trace, const DeviceAnalysis& device, uint64_t row);

struct ChurnStack {
  StackId stack;  // invalid: no stack recorded
  // Freed within 1, 10, 100 later allocations; the second includes the first, the third both.
  std::array<uint64_t, 3> blocks{};
  std::array<uint64_t, 3> bytes{};
  uint64_t peak_bytes = 0;   // of its temporaries (100), live at the active peak
  uint32_t largest_row = 0;  // the largest of them
  // Bytes of its temporaries (100) by the time of their allocation: equal slices of the events.
  std::array<uint64_t, kChurnSlices> slice_bytes{};
};

struct Churn {
  uint64_t allocations = 0;  // of the device, allocated in the recording
  uint64_t allocated_bytes = 0;
  std::array<uint64_t, 3> blocks{};
  std::array<uint64_t, 3> bytes{};
  uint64_t peak_bytes = 0;
  double program_steps = 0;  // see SamplePoints::program_steps
  SamplePoints::Basis basis = SamplePoints::Basis::kEvents;
  std::vector<ChurnStack> stacks;  // most bytes within 100 first; only stacks with some

  // Within 100, per step of the program; with kEvents: per 1,000 events.
  uint64_t perStepBytes() const;
};
Churn churnOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
              const SamplePoints& points);

// Rows of the device that were allocated at steps [begin, end) and freed before `end` as well.
std::vector<uint32_t> churnIn(const model::Trace& trace, const DeviceAnalysis& device, Step begin,
                              Step end);

}  // namespace tidegauge::analysis
