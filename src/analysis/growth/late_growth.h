// Growth that begins late: a line that is level at first and rises from a change point to the end.
//
//   floor   ────────────────╱   fits level + slope · max(0, point − change)
//                          ╱
//           warm-up │     change            end
//
// The floor (growth.h) of a whole recording cannot rise in 80 % of the intervals if a leak began
// after a third of it. Such a stack is reported if
//   1. the bent line explains 90 % of the floor's variance, and the level part rises by at most a
//      fifth of everything,
//   2. at least eight points lie from the change on. There the floor rises as in growth.h, with
//      p < 0.001, its two halves rise alike (neither thrice as fast), and its last quarter still
//      rises (half as fast at least): a ramp that ends, or a few stairs, do not,
//   3. the stack never held a tenth of the growth for a whole interval before: the last tooth of a
//      saw looks like the others,
//   4. after the change, the program does what it did before: most allocations of other stacks come
//      from stacks that had allocated well before it (a quarter of the part that rises). An
//      evaluation at the end, or a second model, are new phases with memory of their own, and
//   5. without marked steps: after the change, too, memory was turned over five times.
//
// Source of the bent line: two-phase regression, D. V. Hinkley 1971. Cost: O(points) for a floor
// with at least eight changes; two passes over the lives if such a floor passes conditions 1 and 2.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/growth/floor_blocks.h"
#include "analysis/trace/sample_points.h"

namespace tidegauge::analysis {

inline constexpr double kLateP = 0.001;
inline constexpr size_t kMinLatePoints = 8;

struct BentLine {
  size_t change = 0;  // the last point of the level part, with the least squares
  size_t level = 0;   // the last point that is as low as the first one, if that is close before it
  // Of the part that rises, per point.
  double slope = 0, low = 0, high = 0;
  double p = 1;
  double rises = 0;
};
// Conditions 1 and 2, for the points from `first` on.
std::optional<BentLine> bentLineOf(const std::vector<double>& floor, size_t first);

// Conditions 3 to 5. One object per device answers for many stacks.
// `blocks` of a trace that is continued, or null.
class LateChecks {
 public:
  struct Candidate {
    StackId stack;  // invalid: no stack recorded
    size_t change = 0;
    uint64_t level_bytes = 0;  // the floor there
    uint64_t grown_bytes = 0;  // from there to the end
  };
  LateChecks(const AnalysedTrace& analysed, const DeviceAnalysis& device,
             const SamplePoints& points, std::vector<Candidate> candidates,
             const FloorBlocks* blocks);
  bool isGrowth(size_t index) const;

 private:
  struct Own {                     // of a candidate
    uint64_t most_held_bytes = 0;  // for a whole interval, before the change
    uint64_t allocations = 0;      // after the change
    bool is_known = false;         // it had allocated well before the change
  };
  struct Births {  // of one stack, in one interval
    StackId stack;
    size_t interval = 0;
    uint32_t count = 0;
  };
  void countAllocations();
  void count(const Births& births);
  void countRows(uint64_t begin, uint64_t end);
  size_t indexOf(StackId stack) const;
  void holdings();
  size_t pointAt(Step step) const;  // the first point at or after it
  // A stack whose first allocation is in this interval, or before it, is not of a new phase.
  size_t lastKnown(const Candidate& it) const;

  const AnalysedTrace& analysed_;
  const DeviceAnalysis& device_;
  const SamplePoints& points_;
  std::vector<Candidate> candidates_;
  const FloorBlocks* blocks_;
  std::vector<Own> own_;
  std::vector<size_t> candidate_of_;      // by stack; the last one: no stack
  std::vector<uint32_t> first_interval_;  // by stack: that of its first allocation
  // By the interval of the allocation: number, bytes, and number by the interval in which the stack
  // first allocated.
  std::vector<uint64_t> allocated_bytes_;
  std::vector<std::vector<uint32_t>> allocations_;
};

}  // namespace tidegauge::analysis
