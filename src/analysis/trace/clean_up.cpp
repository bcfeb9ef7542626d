#include "analysis/trace/clean_up.h"

#include <algorithm>

#include "model/recorded_work.h"

namespace tidegauge::analysis {
namespace {

using model::Action;

bool hasEnded(const model::Trace& trace) {
  if (!trace.work || !trace.work->run) return false;
  std::optional<size_t> row = model::ownRow(*trace.work);
  return row && trace.work->run->processes.ended_ns[*row] != model::kNotRecorded;
}

bool frees(Action action) {
  return action == Action::kFree || action == Action::kFreeRequested ||
         action == Action::kFreeCompleted || action == Action::kSegmentFree ||
         action == Action::kSegmentUnmap;
}

// The event after the last one of the device that is not a free.
uint64_t lastRun(const model::Trace& trace, const model::Device& device) {
  uint64_t event = device.event_end;
  while (event > device.event_begin && frees(trace.events.action[event - 1])) --event;
  return event;
}

}  // namespace

model::Step cleanUpStep(const model::Trace& trace, const model::Device& device) {
  const std::vector<int64_t>& time_us = trace.events.time_us;
  if (!hasEnded(trace) || time_us.empty()) return device.steps();
  int64_t last_us = model::kNoTime;
  for (const model::Device& each : trace.devices) {
    uint64_t begin = lastRun(trace, each);
    if (begin > each.event_begin) last_us = std::max(last_us, time_us[begin - 1]);
  }
  // While the program still works on another device, its frees here are part of that work.
  uint64_t event = lastRun(trace, device);
  while (event < device.event_end && time_us[event] < last_us) ++event;
  if (event == device.event_begin) return device.steps();  // nothing was allocated here
  return static_cast<model::Step>(event - device.event_begin);
}

}  // namespace tidegauge::analysis
