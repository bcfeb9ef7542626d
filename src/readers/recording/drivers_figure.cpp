#include "readers/recording/drivers_figure.h"

#include <algorithm>
#include <limits>
#include <map>

namespace tidegauge::readers::recording {

DriversFigures::Sums DriversFigures::sumsOf(const model::RecordedRun& run, int64_t process_id) {
  Sums sums;
  const model::RecordedProcesses& processes = run.processes;
  std::optional<size_t> own = model::rowOf(processes, process_id);
  if (!own) return sums;
  size_t row = *own;
  int64_t ended_ns = processes.ended_ns[row];
  if (ended_ns == model::kNotRecorded) ended_ns = std::numeric_limits<int64_t>::max();
  const model::RecordedDeviceMemory& memory = run.device_memory;
  auto [first, last] = std::equal_range(memory.pid.begin(), memory.pid.end(), processes.pid[row]);
  std::vector<size_t> rows;
  for (auto at = first; at != last; ++at) {
    auto i = static_cast<size_t>(at - memory.pid.begin());
    bool in_its_life =
        memory.time_ns[i] >= processes.began_ns[row] && memory.time_ns[i] <= ended_ns;
    if (in_its_life) rows.push_back(i);
  }
  // A row gives a new figure for one device: the figures of the others still apply.
  std::map<int32_t, uint64_t> of_devices;
  uint64_t sum = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    uint64_t& of_device = of_devices[memory.device[rows[i]]];
    sum += memory.used_bytes[rows[i]] - of_device;
    of_device = memory.used_bytes[rows[i]];
    bool is_last = i + 1 == rows.size() || memory.time_ns[rows[i + 1]] != memory.time_ns[rows[i]];
    if (is_last) sums.emplace_back(memory.time_ns[rows[i]], sum);
  }
  return sums;
}

bool DriversFigures::continueWith(const model::RecordedRun& run, int64_t process_id,
                                  int64_t newest_ns) {
  Sums before = std::move(sums_);
  sums_ = sumsOf(run, process_id);
  if (sums_.size() < next_) return false;
  auto next = sums_.begin() + static_cast<ptrdiff_t>(next_);
  bool is_same = std::equal(sums_.begin(), next, before.begin());
  return is_same && !isDue(newest_ns);
}

void DriversFigures::compare(const model::ProcessLedger* ledger) {
  const auto& [time_ns, used_bytes] = sums_[next_++];
  if (used_bytes == 0 || (most_ && used_bytes <= most_->used_bytes)) return;
  model::DriversFigure figure{time_ns, used_bytes, 0, false};
  if (ledger != nullptr) {
    for (int32_t device : ledger->devices()) {
      figure.recorded_bytes += ledger->deviceSum(device).bytes;
      figure.has_managed |= ledger->sum(device, model::MemoryKind::kManaged).bytes > 0;
    }
  }
  most_ = figure;
}

void DriversFigures::upTo(int64_t time_ns, const model::ProcessLedger* ledger) {
  while (isDue(time_ns)) compare(ledger);
}

std::optional<model::DriversFigure> DriversFigures::most(const model::ProcessLedger* ledger) {
  while (next_ < sums_.size()) compare(ledger);
  return most_;
}

}  // namespace tidegauge::readers::recording
