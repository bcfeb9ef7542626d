// shrink: an experiment. Takes memory away from a cgroup step by step, and watches how much of it
// comes back:
//
//   in memory │▇▇▇▇▇▇▇
//             │▇▇▇▇▇▇▇▇▇▇▇▇▇▇              a step takes a twentieth, 64 MiB at a time
//             │▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇    as much came back as was taken: the end
//             └──────────────────────────► time
//
// The kernel takes what was not touched for longest (memory.reclaim), so what is left when all that
// is taken comes back is what is worked with in such a window. No limit is set, so nothing has to
// be set back; what was taken comes back when it is touched, from files or swap, which the program
// waits for. So it wants to be asked for (--experiment), and ends when the cgroup waits for memory
// for more than a share of the time. Source: Documentation/admin-guide/cgroup-v2.rst,
// memory.reclaim (Linux 5.19).
#pragma once

#include "wss/process/memory_scope.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

struct ShrinkStep {
  uint64_t before = 0;     // in memory, bytes: before the step
  uint64_t taken = 0;      // so much less at once, and what was back by then
  uint64_t refaulted = 0;  // came back while it was watched
  uint64_t after = 0;      // in memory when it had been watched
  std::optional<double> stalled_percent = std::nullopt;  // some task waited for memory
};

enum class ShrinkEnd : uint8_t {
  kGoesOn,
  kReached,      // what is taken comes back
  kGrew,         // what is taken is filled up by what is new
  kNothingLeft,  // nothing more can be taken
  kPressure,     // it waited for more than it may
};
// After these steps; `most_stalled`: percent.
ShrinkEnd endOf(const std::vector<ShrinkStep>& steps, double most_stalled);

class Shrink final : public Survey {
 public:
  // An error: no such cgroup, not version 2, no memory.reclaim, no right to write it, it is not
  // told how long it waits, or this program is in it.
  static base::Result<Shrink> open(MemoryScope scope, double most_stalled_percent);
  SurveyHead head(int64_t window_ns) const override;
  base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) override;
  SurveyVerdict verdict() const override;

 private:
  Shrink(MemoryScope scope, double most_stalled, bool has_swap)
      : scope_(std::move(scope)), most_stalled_(most_stalled), has_swap_(has_swap) {}
  base::Result<uint64_t> inMemory() const;
  base::Result<bool> waitedTooLong(const MemoryCounters& before, int64_t window_ns) const;
  base::Status take(uint64_t bytes, const MemoryCounters& before, int64_t window_ns) const;
  base::Result<MemoryCounters> watch(Clock& clock, const MemoryCounters& before,
                                     int64_t window_ns) const;
  // The least that was left at the end of a window and stayed.
  uint64_t needed() const;
  std::string sentences() const;

  MemoryScope scope_;
  double most_stalled_;
  bool has_swap_;
  int64_t window_ns_ = 0;
  std::vector<ShrinkStep> steps_;
};

}  // namespace tidegauge::wss
