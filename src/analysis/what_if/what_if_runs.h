// Replays of one program on one device: under some settings, under many at once, and on how small a
// device it gets through.
//
//   Runs runs(tape, program, report, columns);
//   runs.all(settings)           each under all ways to place segments, where that is of an effect
//   runs.minCapacity(settings)   12 GiB does, and so do larger ones
//
// Cost: about 0.1 µs an event and replay (three where the tie-break is by address); of minCapacity
// some 40 replays, each to the first request that fails.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/what_if/what_if.h"

namespace tidegauge::analysis {

// Calls `work(i)` for each i below `count`, on all processors.
template <class Work>
void eachAtOnce(size_t count, const Work& work) {
  std::atomic<size_t> next = 0;
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  size_t threads = std::min<size_t>(std::max(1U, std::thread::hardware_concurrency()), count);
  std::vector<std::jthread> others;
  for (size_t i = 1; i < threads; ++i) others.emplace_back(run);
  run();
}

// Best first: fewer failures, less reserved, fewer calls; last what was not replayed to its end.
inline auto rank(const Replayed& it) {
  return std::tuple(it.stopped_at.has_value(), it.mostOoms(), it.mostReservedBytes(),
                    it.driverCalls(), it.conf.size());
}

// The least number up to `top` that holds, and with it all larger ones that were tried, in steps
// that grow by a quarter: that one holds says nothing of the next. `top` does. Cost: some log2(top)
// calls, and as many as there are steps.
uint64_t leastFrom(uint64_t least, uint64_t top, const std::function<bool(uint64_t)>& holds);

class Runs {
 public:
  using Settings = replay::Settings;
  Runs(const replay::Tape& tape, const replay::Program& program, const WhatIf& report,
       size_t columns)
      : tape_(tape),
        program_(program),
        capacity_bytes_(report.capacity_bytes),
        device_bytes_(report.device_bytes),
        columns_(columns) {}

  Replayed one(const std::string& conf, const Settings& settings) const;
  std::vector<Replayed> all(const std::vector<std::pair<std::string, Settings>>& wanted) const;

  // The smallest device found on which nothing fails, nor on larger ones that were tried, to 2 MiB:
  // none below what is live at the peak can do. A larger one need not do because a smaller does:
  // when what is cached is given back moves all the rest. Nothing: none of 1 PiB does, or a replay
  // took too long.
  std::optional<uint64_t> minCapacity(const Settings& settings) const;

 private:
  Replayed take(const std::string& conf, const Settings& settings,
                replay::Placement placement) const;
  bool survivesOn(const Settings& settings, uint64_t bytes) const;

  const replay::Tape& tape_;
  const replay::Program& program_;
  std::optional<uint64_t> capacity_bytes_, device_bytes_;
  size_t columns_;
};

}  // namespace tidegauge::analysis
