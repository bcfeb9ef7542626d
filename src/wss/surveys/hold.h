// hold: shrink with --pressure. Reclaims memory of a cgroup for as long as its tasks hardly wait
// for memory, and so holds it where they wait for a given share of the time:
//
//   in memory │▇▇▇▇
//             │▇▇▇▇▇▇▇▇▇                 reclaims 1 % · (1 − waited / wanted) of it in each window
//             │▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇    waited as long as wanted: what it held from here on
//             └──────────────────────► time
//
// The rule is that of senpai: J. Weiner et al., "TMO: Transparent Memory Offloading in
// Datacenters", ASPLOS 2022, section 3.3. There a window has 6 s, and the wanted share is 0.1 %.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wss/surveys/reclaimer.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

// The part of `bytes` to reclaim in a window if tasks waited for `stalled` percent of the last one,
// where `wanted` is the goal. (Less than 256 KiB are lost in the batches of the kernel's
// accounting: they are reclaimed with those of later windows.)
uint64_t bytesToTake(uint64_t bytes, double stalled, double wanted);

// What a cgroup held from the first window on in which its tasks waited as long as wanted.
struct Held {
  uint64_t mean_bytes = 0, least_bytes = 0, most_bytes = 0;
  double stalled_percent = 0;
  size_t windows = 0;
};
std::optional<Held> heldIn(const std::vector<ReclaimStep>& steps, double wanted);

class Hold final : public Survey {
 public:
  Hold(Reclaimer reclaimer, double wanted_percent)
      : reclaimer_(std::move(reclaimer)), wanted_(wanted_percent) {}
  SurveyHead head(int64_t window_ns) const override;
  base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) override;
  SurveyVerdict verdict() const override;

 private:
  bool isTooMuch() const;
  std::string sentences() const;

  Reclaimer reclaimer_;
  double wanted_;  // percent of the time
  int64_t window_ns_ = 0;
  uint64_t due_ = 0;  // bytes of earlier windows that were too few
  std::vector<ReclaimStep> steps_;
};

}  // namespace tidegauge::wss
