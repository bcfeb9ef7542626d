#include "analysis/oom/driver_free.h"

#include <algorithm>
#include <limits>

namespace tidegauge::analysis {
namespace {

bool hasOneGpu(const model::Trace& trace) {
  return std::count_if(trace.devices.begin(), trace.devices.end(), [](const model::Device& each) {
           return each.kind == model::DeviceKind::kGpu;
         }) == 1;
}

}  // namespace

uint64_t DriverFree::leftBytes() const {
  auto taken = static_cast<uint64_t>(std::max<int64_t>(taken_since_bytes, 0));
  auto given = static_cast<uint64_t>(-std::min<int64_t>(taken_since_bytes, 0));
  uint64_t left = free_bytes - std::min(taken, free_bytes);
  return std::min(left + std::min(given, total_bytes), std::max(total_bytes, left));
}

DriverFigures::DriverFigures(const AnalysedTrace& analysed, const DeviceAnalysis& device)
    : device_(device) {
  const model::Trace& trace = analysed.trace;
  bool is_gpu = device.device.kind == model::DeviceKind::kGpu;
  if (!trace.work || !is_gpu || !device.time.present()) return;
  takeAnswers(trace.work->answers);
  if (trace.work->run && hasOneGpu(trace)) takeNvml(*trace.work->run);
  std::stable_sort(by_time_.begin(), by_time_.end(),
                   [](const Figure& a, const Figure& b) { return a.time_ns < b.time_ns; });
}

void DriverFigures::take(int64_t time_ns, uint64_t free_bytes, uint64_t total_bytes,
                         bool is_answer) {
  by_time_.push_back({time_ns, DriverFree{.free_bytes = free_bytes,
                                          .total_bytes = total_bytes,
                                          .time_us = time_ns / 1000,
                                          .is_answer = is_answer}});
}

void DriverFigures::takeAnswers(const model::DriversAnswers& answers) {
  for (size_t row = 0; row < answers.size(); ++row) {
    if (answers.device[row] != device_.device.ordinal) continue;
    take(answers.time_ns[row], answers.free_bytes[row], answers.total_bytes[row], true);
  }
}

void DriverFigures::takeNvml(const model::RecordedRun& run) {
  const model::RecordedDevices& gpus = run.devices;
  if (gpus.device.size() != 1) return;
  const model::RecordedDeviceMemory& memory = run.device_memory;
  for (size_t row = 0; row < memory.size(); ++row) {
    bool of_all = memory.pid[row] == model::kNotRecorded && memory.device[row] == gpus.device[0];
    if (!of_all || memory.used_bytes[row] > gpus.total_bytes[0]) continue;
    take(memory.time_ns[row], gpus.total_bytes[0] - memory.used_bytes[row], gpus.total_bytes[0],
         false);
  }
}

std::optional<DriverFree> DriverFigures::at(Step step) const {
  if (by_time_.empty()) return std::nullopt;
  // The state after the last step lasts to the end.
  bool is_last = uint64_t{step} + 1 >= device_.device.steps();
  int64_t end_ns =
      is_last ? std::numeric_limits<int64_t>::max() : device_.time.timeOf(step + 1) * 1000;
  auto after_it =
      std::lower_bound(by_time_.begin(), by_time_.end(), end_ns,
                       [](const Figure& figure, int64_t ns) { return figure.time_ns < ns; });
  if (after_it == by_time_.begin()) return std::nullopt;
  DriverFree found = std::prev(after_it)->said;
  Step after = device_.time.stepAfter(found.time_us);
  uint64_t then = after == 0 ? device_.totals.initial().reserved_bytes
                             : device_.totals.at(after - 1).reserved_bytes;
  found.taken_since_bytes = static_cast<int64_t>(device_.totals.at(step).reserved_bytes - then);
  return found;
}

std::optional<DriverFree> driverFreeAt(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                       Step step) {
  return DriverFigures(analysed, device).at(step);
}

}  // namespace tidegauge::analysis
