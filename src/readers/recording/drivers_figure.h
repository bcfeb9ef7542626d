// DriversFigure of a process: what the driver itself said that it used (table device_memory),
// beside what the ledger held at that time, where the former is largest.
//
//   DriversFigures figures(run, process_id);
//   for (call) { figures.upTo(call.end_ns, ledger); ledger.take(call); }
//   work.drivers_figure = figures.most(ledger);
//
// Cost: O(rows of the pid · devices), and per call a comparison.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/ledger/ledger.h"
#include "model/recorded_work.h"

namespace tidegauge::readers::recording {

class DriversFigures {
 public:
  DriversFigures(const model::RecordedRun& run, int64_t process_id);
  // `ledger` as it was before `time_ns`; nullptr: it has taken no call yet.
  void upTo(int64_t time_ns, const model::ProcessLedger* ledger);
  bool isDue(int64_t time_ns) const { return next_ < sums_.size() && sums_[next_].first < time_ns; }
  std::optional<model::DriversFigure> most(const model::ProcessLedger* ledger);

 private:
  void compare(const model::ProcessLedger* ledger);

  std::vector<std::pair<int64_t, uint64_t>> sums_;  // time, bytes on all devices; by time
  size_t next_ = 0;
  std::optional<model::DriversFigure> most_;
};

}  // namespace tidegauge::readers::recording
