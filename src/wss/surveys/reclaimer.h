// Reclaims memory of a cgroup, and watches what comes of it: one step of an experiment.
//
//   take   memory.reclaim: what was not touched for longest, 64 MiB at a time
//   watch  for the rest of the window: what refaults, and how long tasks wait for memory
//
// It sets no limit, so nothing must be restored. Reclaimed memory is read back when it is touched,
// from files or swap, and the program waits for that: a step ends early if it waits for too long.
// Source: Documentation/admin-guide/cgroup-v2.rst, memory.reclaim (Linux 5.19).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "wss/machine/memory_scope.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

struct ReclaimStep {
  uint64_t before = 0;     // resident bytes before the step
  uint64_t taken = 0;      // reclaimed bytes, including those that refaulted meanwhile
  uint64_t refaulted = 0;  // refaulted while it was watched
  uint64_t after = 0;      // resident bytes at the end of the watch
  std::optional<double> stalled_percent = std::nullopt;  // some task waited for memory
};

// By how much it became less; 0: it did not.
inline uint64_t lessThan(uint64_t now, uint64_t before) { return before > now ? before - now : 0; }

inline constexpr std::string_view kReclaimTableHead =
    "Step  In memory(MB) Taken(MB)  Back(MB) After(MB)  Some%\n";
SurveyRow rowOf(const ReclaimStep& step, size_t number);

class Reclaimer {
 public:
  // Errors: no such cgroup, not version 2, no memory.reclaim, no right to write it, its stalls are
  // not reported, or this program is in it.
  static base::Result<Reclaimer> open(MemoryScope scope, double most_stalled_percent);

  const std::string& cgroup() const { return scope_.cgroup(); }
  double mostStalled() const { return most_stalled_; }  // percent of a window
  bool hasSwap() const { return has_swap_; }
  base::Result<uint64_t> inMemory() const;  // bytes
  // One window; absent: the clock ended it. Reclaims less than `bytes` if the stall is used up.
  base::Result<std::optional<ReclaimStep>> step(uint64_t bytes, Clock& clock,
                                                int64_t window_ns) const;
  // That the cgroup stalled for more than mostStalled().
  static base::Error stalledTooLong();
  // What its figures leave out.
  std::vector<std::string> limits() const;

 private:
  Reclaimer(MemoryScope scope, double most_stalled, bool has_swap)
      : scope_(std::move(scope)), most_stalled_(most_stalled), has_swap_(has_swap) {}
  base::Result<bool> waitedTooLong(const MemoryCounters& before, int64_t window_ns) const;
  base::Status take(uint64_t bytes, const MemoryCounters& before, int64_t window_ns) const;
  base::Result<MemoryCounters> watch(Clock& clock, const MemoryCounters& before,
                                     int64_t window_ns) const;

  MemoryScope scope_;
  double most_stalled_;
  bool has_swap_;
};

}  // namespace tidegauge::wss
