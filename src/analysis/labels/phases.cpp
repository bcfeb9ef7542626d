#include "analysis/labels/phases.h"

#include <algorithm>

namespace tidegauge::analysis {

TimeAxis::TimeAxis(const model::Trace& trace, const model::Device& device)
    : trace_(trace), device_(device) {
  readAll();
}

TimeAxis::TimeAxis(const model::Trace& trace, const model::Device& device, TimeAxis&& before,
                   const model::Continuation& continuation)
    : trace_(trace), device_(device) {
  const std::vector<int64_t>& times = trace.events.time_us;
  Step kept = continuation.steps;
  bool continues = kept > 0 && before.present_ && times[device.event_begin] != model::kNoTime;
  if (!continues) {
    readAll();
    return;
  }
  present_ = true;
  first_us_ = before.first_us_;
  if (!before.monotone_) {
    monotone_ = false;
    repaired_ = std::move(before.repaired_);
    repaired_.resize(kept);
    repairFrom(kept, repaired_.back());
    last_us_ = repaired_.back();
    return;
  }
  auto begin = times.begin() + static_cast<ptrdiff_t>(device.event_begin + kept - 1);
  auto end = times.begin() + static_cast<ptrdiff_t>(device.event_end);
  last_us_ = *(end - 1);
  if (!std::is_sorted(begin, end)) readAll();
}

void TimeAxis::readAll() {
  const model::Trace& trace = trace_;
  const model::Device& device = device_;
  if (trace.events.time_us.empty() || device.steps() == 0) return;
  const std::vector<int64_t>& times = trace.events.time_us;
  int64_t latest = model::kNoTime;
  for (uint64_t event = device.event_begin; event < device.event_end; ++event) {
    if (times[event] < latest) monotone_ = false;
    if (times[event] != model::kNoTime && !present_) {
      present_ = true;
      first_us_ = times[event];
    }
    latest = std::max(latest, times[event]);
  }
  if (!present_) return;
  last_us_ = latest;
  if (monotone_ && times[device.event_begin] != model::kNoTime) return;
  monotone_ = false;
  repaired_.reserve(device.steps());
  repairFrom(0, first_us_);
}

void TimeAxis::repairFrom(Step step, int64_t so_far) {
  for (uint64_t event = device_.event_begin + step; event < device_.event_end; ++event) {
    so_far = std::max(so_far, trace_.events.time_us[event]);
    repaired_.push_back(so_far);
  }
}

int64_t TimeAxis::timeOf(Step step) const {
  if (!present_) return model::kNoTime;
  step = std::min(step, device_.steps() - 1);
  return monotone_ ? trace_.events.time_us[device_.event_begin + step] : repaired_[step];
}

Step TimeAxis::stepAfter(int64_t time_us) const {
  if (!present_) return 0;
  const int64_t* begin =
      monotone_ ? trace_.events.time_us.data() + device_.event_begin : repaired_.data();
  return static_cast<Step>(std::upper_bound(begin, begin + device_.steps(), time_us) - begin);
}

Step TimeAxis::stepAtOrAfter(int64_t time_us) const {
  if (!present_) return 0;
  const int64_t* begin =
      monotone_ ? trace_.events.time_us.data() + device_.event_begin : repaired_.data();
  return static_cast<Step>(std::lower_bound(begin, begin + device_.steps(), time_us) - begin);
}

std::vector<Phase> phasesOf(const model::Trace& trace, const TimeAxis& axis) {
  std::vector<Phase> phases;
  if (!axis.present()) return phases;
  const model::Annotations& annotations = trace.annotations;
  for (size_t row = 0; row < annotations.size(); ++row) {
    Phase phase;
    phase.annotation = static_cast<uint32_t>(row);
    phase.depth = annotations.depth[row];
    phase.begin_step = axis.stepAtOrAfter(annotations.begin_us[row]);
    int64_t end_us = annotations.end_us[row];
    phase.end_step = axis.stepAfter(end_us == model::kNoTime ? axis.lastUs() : end_us);
    phase.end_step = std::max(phase.end_step, phase.begin_step);
    phases.push_back(phase);
  }
  std::stable_sort(phases.begin(), phases.end(), [](const Phase& a, const Phase& b) {
    if (a.begin_step != b.begin_step) return a.begin_step < b.begin_step;
    if (a.end_step != b.end_step) return a.end_step > b.end_step;
    return a.depth < b.depth;
  });
  return phases;
}

std::vector<uint32_t> phasesAt(const std::vector<Phase>& phases, Step step) {
  std::vector<uint32_t> around;
  for (const Phase& phase : phases) {
    if (phase.begin_step > step) break;
    if (step < phase.end_step) around.push_back(phase.annotation);
  }
  return around;
}

}  // namespace tidegauge::analysis
