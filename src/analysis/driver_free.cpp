#include "analysis/driver_free.h"

#include <algorithm>
#include <limits>

#include "model/recorded_work.h"

namespace tidegauge::analysis {
namespace {

// The newest figure before `end_ns`.
class Newest {
 public:
  explicit Newest(int64_t end_ns) : end_ns_(end_ns) {}

  void see(int64_t time_ns, uint64_t free_bytes, uint64_t total_bytes, bool is_answer) {
    if (time_ns >= end_ns_ || time_ns < best_ns_) return;
    best_ns_ = time_ns;
    best_ = DriverFree{.free_bytes = free_bytes,
                       .total_bytes = total_bytes,
                       .time_us = time_ns / 1000,
                       .is_answer = is_answer};
  }
  std::optional<DriverFree> best() const { return best_; }

 private:
  int64_t end_ns_;
  int64_t best_ns_ = std::numeric_limits<int64_t>::min();
  std::optional<DriverFree> best_;
};

bool hasOneGpu(const model::Trace& trace) {
  return std::count_if(trace.devices.begin(), trace.devices.end(), [](const model::Device& each) {
           return each.kind == model::DeviceKind::kGpu;
         }) == 1;
}

void seeNvml(const model::RecordedRun& run, Newest& newest) {
  const model::RecordedDevices& gpus = run.devices;
  if (gpus.device.size() != 1) return;
  const model::RecordedDeviceMemory& memory = run.device_memory;
  for (size_t row = 0; row < memory.size(); ++row) {
    bool of_all = memory.pid[row] == model::kNotRecorded && memory.device[row] == gpus.device[0];
    if (!of_all || memory.used_bytes[row] > gpus.total_bytes[0]) continue;
    newest.see(memory.time_ns[row], gpus.total_bytes[0] - memory.used_bytes[row],
               gpus.total_bytes[0], false);
  }
}

}  // namespace

std::optional<DriverFree> driverFreeAt(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                       Step step) {
  const model::Trace& trace = analysed.trace;
  bool is_gpu = device.device.kind == model::DeviceKind::kGpu;
  if (!trace.work || !is_gpu || !device.time.present()) return std::nullopt;
  // The state after the last step lasts to the end.
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  bool is_last = uint64_t{step} + 1 >= device.device.steps();
  Newest newest(is_last ? kNever : device.time.timeOf(step + 1) * 1000);
  const model::DriversAnswers& answers = trace.work->answers;
  for (size_t row = 0; row < answers.size(); ++row) {
    if (answers.device[row] != device.device.ordinal) continue;
    newest.see(answers.time_ns[row], answers.free_bytes[row], answers.total_bytes[row], true);
  }
  if (trace.work->run && hasOneGpu(trace)) seeNvml(*trace.work->run, newest);
  std::optional<DriverFree> found = newest.best();
  if (!found) return found;
  Step after = device.time.stepAfter(found->time_us);
  uint64_t then = after == 0 ? device.totals.initial().reserved_bytes
                             : device.totals.at(after - 1).reserved_bytes;
  found->taken_since_bytes = static_cast<int64_t>(device.totals.at(step).reserved_bytes - then);
  return found;
}

}  // namespace tidegauge::analysis
