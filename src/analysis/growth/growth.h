// Which stacks hold more and more memory? Outstanding bytes by stack, and a test of their growth.
//
//   outstanding  ▂▅▃▆▄▇▅█▆█   at the points of sample_points.h
//   floor        ▂▃▃▄▄▅▅▆▆█   … and never less again: what stays, without temporaries
//
// A stack grows if, without the first fifth of the points (warm-up), its floor
//   1. has a Theil–Sen slope above 0,
//   2. rises by Mann–Kendall with p < 0.01 (so fewer than eight points never show growth), and
//   3. rises in at least 80 % of the intervals between points.
// The test runs on every point. If that shows no growth, it runs on every second, fourth, … point
// while at least twelve are left, since a leak may be rarer than the points. It uses the floor, not
// the outstanding bytes: a cache that is emptied, a sequence that grows until its request ends, and
// points that drift through the sawtooth of a training loop also rise in most intervals, but they
// fall again.
//
// A stack that does not grow over the whole recording may have begun late: late_growth.h.
//
// Without marked steps, growth is reported only if the recording turned its memory over at least
// five times (bytes allocated ÷ the range of active bytes, after warm-up). Within a part of one
// forward pass everything grows.
//
// What an ended program freed in its last clean-up (clean_up.h) counts as held: exit handlers and
// the end of the interpreter empty every list, and would hide a leak.
//
// Segments that the allocator keeps are not allocations, and weights do not grow: neither is
// reported.
// Cost: one pass over the events backwards, O(lives + steps); 40 bytes per stack while it runs. For
// a trace that continues another one: what is new, and some ns per stack of each block of steps
// (floor_blocks.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/trace/sample_points.h"
#include "analysis/trace/trend.h"

namespace tidegauge::analysis {

inline constexpr double kGrowthP = 0.01;
inline constexpr double kGrowthRises = 0.8;  // of the intervals
inline constexpr double kMinTurnover = 5;
inline constexpr size_t kMinGrowthPoints = 8;  // with fewer, p < 0.01 is out of reach
inline constexpr size_t kMaxGrowing = 200;

struct GrowingStack {
  enum class Kind : uint8_t {
    kAccumulates,  // old blocks stay, new ones come
    kReplaced,     // the blocks that it holds are freed, for more or larger ones
  };
  StackId stack;  // invalid: no stack recorded
  Kind kind = Kind::kAccumulates;
  double bytes_per_step = 0;  // of the program; without marked steps: per 1,000 events
  double low = 0, high = 0;   // 90 %
  double p = 1;
  double rises = 0;          // share of the intervals
  uint64_t grown_bytes = 0;  // the floor at the last point minus that at the first
  // Outstanding at the end of the recording; if the program cleaned up at its end, before that.
  uint64_t retained_bytes = 0;
  uint64_t retained_blocks = 0;
  uint64_t given_back_bytes = 0;  // of retained_bytes: freed in that clean-up
  // The floor has risen ever since. is_late: its first block that stayed, if it accumulates.
  Step since_step = 0;
  bool is_late = false;      // it began after the warm-up; the slope is that of the part that rises
  uint32_t example_row = 0;  // of trace.allocations: its first block that stayed, or its largest
  std::vector<uint64_t> outstanding_bytes;  // at each point
};

struct Growth {
  enum class Verdict : uint8_t {
    kReported,
    kTooFewPoints,      // p < 0.01 is out of reach
    kTooLittleTurnover  // no steps are marked, and the recording may be part of one
  };
  Verdict verdict = Verdict::kTooFewPoints;
  SamplePoints points;
  double turnover = 0;               // only if no steps are marked
  size_t growing = 0;                // stacks
  std::vector<GrowingStack> stacks;  // most bytes per step first, at most kMaxGrowing
};

std::string_view name(GrowingStack::Kind kind);  // "accumulates", "replaced"
std::string_view name(Growth::Verdict verdict);  // the verdict in JSON

// The floor of every stack (by id; last: no stack) at the points, as the test uses them. For the
// twin.
std::vector<std::vector<double>> floorsOf(const AnalysedTrace& analysed,
                                          const DeviceAnalysis& device,
                                          const std::vector<Step>& points);

Growth findGrowth(const AnalysedTrace& analysed, const DeviceAnalysis& device);

}  // namespace tidegauge::analysis
