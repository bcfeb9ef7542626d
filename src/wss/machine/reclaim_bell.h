// Whether the kernel reclaims memory from a process now: asked every few milliseconds, so it reads
// only the smallest counters.
//
//   /sys/fs/cgroup/shop/db/memory.events          high 0  max 48488 …  the cgroup is at its limit
//   /sys/fs/cgroup/memory/shop/db/memory.failcnt  48488                the same, version 1; with
//                                                                      the limit of swap: memsw
//   /proc/pressure/memory                         some … total=93010   tasks wait for memory
//
// Of the cgroup and all above it, since each may have a limit. Reclaim by kswapd alone, for which
// nobody waits, is not noticed. Cost: 2 µs for each file. Source:
// Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst, accounting/psi.rst.
#pragma once

#include <string>
#include <vector>

#include "wss/process/process.h"

namespace tidegauge::wss {

class ReclaimBell {
 public:
  // `root`: prefix of /sys and /proc, for tests.
  explicit ReclaimBell(const Process& process, const std::string& root = {});
  ~ReclaimBell();
  ReclaimBell(ReclaimBell&& other) noexcept = default;
  ReclaimBell& operator=(ReclaimBell&&) = delete;
  ReclaimBell(const ReclaimBell&) = delete;

  // Whether a counter has changed since the last call, or since this was made.
  bool rang();

 private:
  struct Counter {
    int file = -1;
    std::string last;
  };
  std::vector<Counter> counters_;
};

}  // namespace tidegauge::wss
