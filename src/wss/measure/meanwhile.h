// What happened in a window beside the touches: what the kernel reclaimed, what came back, and how
// long the process ran. It decides what a figure can say.
//
//   reclaimed 253 MiB, came back 255 MiB, ran 0.31 s  →  the figure is a lower bound
//   nothing reclaimed, ran 0 s                        →  it shows nothing of what is needed
//
// Cost: a call and some ten small files for each window, a call per open file for each clearing;
// while it passes, see reclaim_bell.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wss/machine/machine.h"
#include "wss/machine/memory_scope.h"
#include "wss/machine/reclaim_bell.h"
#include "wss/process/unseen_touches.h"
#include "wss/surveys/pressure.h"

namespace tidegauge::wss {

struct Meanwhile {
  PressureWindow pressure{};  // since the row before; of the first, since the clearing
  // Since the clearing, or the row before if that is later: without the time between two windows.
  PressureWindow within{};
  Work work{};                           // of the same time as `within`
  std::string cgroup{};                  // whose pressure it is; empty: the whole machine's
  bool scans_machine = false;            // MemoryScope::scansMachine()
  uint64_t limit_bytes = 0;              // the smallest limit that holds for the process; 0: none
  std::string limit_of{};                // its cgroup
  uint64_t charged_bytes = 0;            // to that cgroup, at the end
  std::optional<CgroupMemory> memory{};  // of `cgroup`, at the end
  // In this row or in one before it, back to the clearing: some of what was touched may be missing.
  bool is_reclaimed = false;
  UnseenTouches unseen{};  // that others may have made, by what is open at both ends

  bool didNotRun() const { return work.ran_ns == 0; }
  // Memory came back while the cgroup was at its limit: what its processes use does not fit.
  bool exceedsLimit() const;
};

// The sum over processes that were measured together.
void add(Meanwhile& sum, const Meanwhile& more);

// For one process; it must live as long.
class MeanwhileWatch {
 public:
  explicit MeanwhileWatch(const Process& process, const std::string& root = {});

  void begin(int64_t now_ns);  // before the clearing
  Meanwhile look(int64_t now_ns);
  // Whether memory is being reclaimed now: ReclaimBell::rang().
  bool isReclaimed() { return bell_.rang(); }

 private:
  const Process& process_;
  MemoryScope scope_;
  Machine machine_;
  ReclaimBell bell_;
  std::optional<MemoryCounters> counted_{}, began_{};  // at the row before; and at the clearing
  Work work_{};
  UnseenTouches unseen_{};
  int64_t looked_ns_ = 0, began_ns_ = 0;
  bool is_reclaimed_ = false;
};

}  // namespace tidegauge::wss
