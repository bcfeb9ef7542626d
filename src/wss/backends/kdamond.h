// A kdamond of this process: the kernel's thread that samples which regions of a process are
// touched (DAMON), controlled through /sys/kernel/mm/damon/admin/kdamonds.
//
//   start ──► it checks one page of each region every sampling interval, splits regions with
//             different parts and merges similar neighbours ──► regions(): those touched in the
//             last whole interval
//
// A machine has one set of them, and another program may use it to reclaim memory. Writing their
// number discards all of them. So nothing is written unless there are none, and nothing at the end
// unless the kdamond is still the one started here. Source:
// Documentation/admin-guide/mm/damon/usage.rst.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidegauge::wss {

struct DamonRegion {
  uint64_t start = 0;
  uint64_t end = 0;
};

class Kdamond {
 public:
  // Another program's kdamond is running: it clears accessed bits wherever it looks.
  static bool isOthersAtWork(const std::string& root = {});
  // A sentence about that, for a back-end that reads accessed bits; empty if there is none.
  static std::vector<std::string> limitsOfOthers();
  // Whether one can be started: there is none yet. Only reads. `root`: prefix of /sys; for tests.
  static base::Status check(const std::string& root = {});
  // Whether it works here: starts one for this process, and ends it. check() cannot know whether
  // the kernel watches processes.
  static base::Status tryIt();
  static base::Result<std::unique_ptr<Kdamond>> start(pid_t pid, int64_t interval_ns,
                                                      const std::string& root = {});
  Kdamond(const Kdamond&) = delete;
  Kdamond& operator=(const Kdamond&) = delete;
  ~Kdamond();  // ends it and leaves none

  // Continues with the regions that it found. Waits for the end of an interval.
  base::Status setInterval(int64_t interval_ns);
  // Regions in which a page was touched in the last interval. Waits for the end of one.
  base::Result<std::vector<DamonRegion>> regions();
  int64_t cpu_ns() const;  // CPU time that it used; 0: not reported by the kernel

 private:
  Kdamond(pid_t pid, int lock, std::string root) : pid_(pid), lock_(lock), root_(std::move(root)) {}
  std::string file(const char* name) const;
  base::Status set(const char* name, const std::string& value) const;
  base::Status order(const char* word) const;
  base::Status configure(int64_t interval_ns);
  base::Status setIntervals(int64_t interval_ns) const;
  bool isOurs() const;

  pid_t pid_;
  int lock_;  // held, so that two instances do not start one at the same time
  std::string root_;
  bool is_named_ = false;  // it contains this process; if not, it was replaced
};

}  // namespace tidegauge::wss
