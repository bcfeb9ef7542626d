// shrink: an experiment. Reclaims memory of a cgroup step by step, and watches how much of it
// refaults:
//
//   in memory │▇▇▇▇▇▇▇
//             │▇▇▇▇▇▇▇▇▇▇▇▇▇▇              a step takes a twentieth, 64 MiB at a time
//             │▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇    as much refaulted as was reclaimed: the end
//             └──────────────────────────► time
//
// The kernel reclaims what was not touched for longest. So if everything that is reclaimed
// refaults, the rest is in use within such a window. It needs --experiment, and ends if the cgroup
// stalls on memory for more than a share of the time.
#pragma once

#include <string>
#include <vector>

#include "wss/surveys/reclaimer.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

enum class ShrinkEnd : uint8_t {
  kGoesOn,
  kReached,      // what is reclaimed refaults
  kGrew,         // what is reclaimed is replaced by new memory
  kNothingLeft,  // nothing more can be reclaimed
  kPressure,     // it stalled for longer than allowed
};
// The reason to end after these steps; `most_stalled`: percent.
ShrinkEnd endOf(const std::vector<ReclaimStep>& steps, double most_stalled);

class Shrink final : public Survey {
 public:
  explicit Shrink(Reclaimer reclaimer) : reclaimer_(std::move(reclaimer)) {}
  SurveyHead head(int64_t window_ns) const override;
  base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) override;
  SurveyVerdict verdict() const override;

 private:
  ShrinkEnd end() const { return endOf(steps_, reclaimer_.mostStalled()); }
  // The least that was left at the end of a window and stayed.
  uint64_t needed() const;
  std::string sentences() const;

  Reclaimer reclaimer_;
  int64_t window_ns_ = 0;
  std::vector<ReclaimStep> steps_;
};

}  // namespace tidegauge::wss
