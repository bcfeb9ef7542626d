// Replays of one program on one device: under some settings, under many in parallel, and the
// smallest device on which it completes.
//
//   Runs runs(tape, program, report, columns);
//   runs.all(settings)           each with all placements of segments, if they matter
//   runs.minCapacity(settings)   12 GiB suffices, and so do larger ones
//
// Cost: about 0.1 µs per event and replay (three times that if ties are broken by address);
// minCapacity takes some 40 replays, each to the first failure.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/what_if/what_if.h"

namespace tidegauge::analysis {

// Best first: fewer failures, less reserved, fewer calls; incomplete replays last.
inline auto rank(const Replayed& it) {
  return std::tuple(it.stopped_at.has_value(), it.mostOoms(), it.mostReservedBytes(),
                    it.driverCalls(), it.conf.size());
}

// The settings of the whole string, for the same program (which may have set a fraction) and
// version of PyTorch. Errors: PyTorch would reject it.
base::Result<replay::Settings> settingsFor(const replay::Settings& own, const std::string& conf,
                                           std::optional<double> fraction);

// An improvement that is worth a word.
inline bool isNoticeablyLess(uint64_t bytes, uint64_t than_bytes) {
  constexpr uint64_t kNoticeable = 100;  // a share of the peak
  return than_bytes > bytes && than_bytes - bytes > than_bytes / kNoticeable;
}

// The least number up to `top` that holds, together with all larger ones that were tried, in steps
// that grow by a quarter: one that holds implies nothing about the next. `top` holds. Cost: some
// log2(top) calls, plus the number of steps.
uint64_t leastFrom(uint64_t least, uint64_t top, const std::function<bool(uint64_t)>& holds);

class Runs {
 public:
  using Settings = replay::Settings;
  Runs(const replay::Tape& tape, const replay::Program& program, const WhatIf& report,
       size_t columns, Effort effort = {})
      : tape_(tape),
        program_(program),
        capacity_bytes_(report.countedBytes()),
        unmapped_bytes_(report.unmapped_bytes),
        device_bytes_(report.device_bytes),
        columns_(columns),
        effort_(std::move(effort)) {}

  Replayed one(const std::string& conf, const Settings& settings) const;
  bool isStopped() const { return effort_.stop.stop_requested(); }
  // In parallel. Incomplete, and of no use, if isStopped() then.
  std::vector<Replayed> all(const std::vector<std::pair<std::string, Settings>>& wanted) const;

  // The first request that fails on the device of the report. Absent: none. A replay that takes too
  // long fails where it stopped.
  enum class Where : uint8_t { kFirstPlacement, kAnyPlacement };
  std::optional<replay::Failure> firstFailure(const Settings& settings, Where where) const;

  // The smallest device on which nothing fails, nor on the larger ones that were tried, to 2 MiB.
  // It cannot be below the live bytes at the peak. A larger one need not suffice because a smaller
  // one does: when the cache is released changes everything after. Absent: 1 PiB does not suffice,
  // or a replay took too long.
  std::optional<uint64_t> minCapacity(const Settings& settings) const;

 private:
  Replayed take(const std::string& conf, const Settings& settings,
                replay::Placement placement) const;
  bool survivesOn(const Settings& settings, uint64_t bytes) const;

  const replay::Tape& tape_;
  const replay::Program& program_;
  std::optional<uint64_t> capacity_bytes_;
  uint64_t unmapped_bytes_ = 0;
  std::optional<uint64_t> device_bytes_;
  size_t columns_;
  Effort effort_;
};

}  // namespace tidegauge::analysis
