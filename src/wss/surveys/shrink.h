// shrink: an experiment. Reclaims memory of a cgroup step by step, and watches how much of it
// refaults:
//
//   in memory │▇▇▇▇▇▇▇
//             │▇▇▇▇▇▇▇▇▇▇▇▇▇▇              a step takes a twentieth, 64 MiB at a time
//             │▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇    as much refaulted as was reclaimed: the end
//             └──────────────────────────► time
//
// The kernel reclaims what was not touched for longest (memory.reclaim). So if everything that is
// reclaimed refaults, the rest is in use within such a window. It sets no limit, so nothing must be
// restored. Reclaimed memory is read back when it is touched, from files or swap, and the program
// waits for that. So it needs --experiment, and ends if the cgroup stalls on memory for more than a
// share of the time. Source: Documentation/admin-guide/cgroup-v2.rst, memory.reclaim (Linux 5.19).
#pragma once

#include "wss/process/memory_scope.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

struct ShrinkStep {
  uint64_t before = 0;     // resident bytes before the step
  uint64_t taken = 0;      // reclaimed bytes, including those that refaulted meanwhile
  uint64_t refaulted = 0;  // refaulted while it was watched
  uint64_t after = 0;      // resident bytes at the end of the watch
  std::optional<double> stalled_percent = std::nullopt;  // some task waited for memory
};

enum class ShrinkEnd : uint8_t {
  kGoesOn,
  kReached,      // what is reclaimed refaults
  kGrew,         // what is reclaimed is replaced by new memory
  kNothingLeft,  // nothing more can be reclaimed
  kPressure,     // it stalled for longer than allowed
};
// The reason to end after these steps; `most_stalled`: percent.
ShrinkEnd endOf(const std::vector<ShrinkStep>& steps, double most_stalled);

class Shrink final : public Survey {
 public:
  // Errors: no such cgroup, not version 2, no memory.reclaim, no right to write it, its stalls are
  // not reported, or this program is in it.
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
