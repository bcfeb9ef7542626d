// DriversFigure of a process: its memory use as the driver reported it (table device_memory), at
// its peak, and what the ledger held at that time.
//
//   DriversFigures figures;
//   figures.continueWith(run, process_id, newest_ns);
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
  // Takes the rows of `run`. False: some of those before `newest_ns`, the time of the last upTo(),
  // are others than before.
  bool continueWith(const model::RecordedRun& run, int64_t process_id, int64_t newest_ns);
  // `ledger` in its state before `time_ns`; nullptr: no call yet.
  void upTo(int64_t time_ns, const model::ProcessLedger* ledger);
  bool isDue(int64_t time_ns) const { return next_ < sums_.size() && sums_[next_].first < time_ns; }
  std::optional<model::DriversFigure> most(const model::ProcessLedger* ledger);

 private:
  using Sums = std::vector<std::pair<int64_t, uint64_t>>;  // time, bytes on all devices; by time
  static Sums sumsOf(const model::RecordedRun& run, int64_t process_id);
  void compare(const model::ProcessLedger* ledger);

  Sums sums_;
  size_t next_ = 0;
  std::optional<model::DriversFigure> most_;
};

}  // namespace tidegauge::readers::recording
