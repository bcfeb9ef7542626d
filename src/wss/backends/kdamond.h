// A kdamond of our own: the kernel's thread that samples which regions of a process are touched
// (DAMON), ordered through /sys/kernel/mm/damon/admin/kdamonds.
//
//   start ──► it looks at one page of each region every sampling interval, splits regions whose
//             parts differ and joins neighbours that are alike ──► regions(): those touched in
//             the last whole interval
//
// A machine has one set of them, often somebody's own means to reclaim memory; to write their
// number throws all away. So nothing is written unless there is none, and nothing at the end unless
// it still is what was started here. Source: Documentation/admin-guide/mm/damon/usage.rst.
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
  // One that is not ours is at work: it takes accessed bits away, of whatever it looks at.
  static bool isOthersAtWork(const std::string& root = {});
  // That, in words, for a back-end that reads accessed bits; empty: none is.
  static std::vector<std::string> limitsOfOthers();
  // Whether one could be started: that there is none. Only reads. `root`: before /sys; for tests.
  static base::Status check(const std::string& root = {});
  static base::Result<std::unique_ptr<Kdamond>> start(pid_t pid, int64_t interval_ns,
                                                      const std::string& root = {});
  Kdamond(const Kdamond&) = delete;
  Kdamond& operator=(const Kdamond&) = delete;
  ~Kdamond();  // ends it and leaves none

  // Goes on with the regions that it found. Waits for the end of an interval.
  base::Status setInterval(int64_t interval_ns);
  // In which a page was seen touched in the last interval. Waits for the end of one.
  base::Result<std::vector<DamonRegion>> regions();
  int64_t cpu_ns() const;  // that it used; 0: the kernel does not tell

 private:
  Kdamond(pid_t pid, int lock, std::string root) : pid_(pid), lock_(lock), root_(std::move(root)) {}
  std::string file(const char* name) const;
  base::Status set(const char* name, const std::string& value) const;
  base::Status order(const char* word) const;
  base::Status configure(int64_t interval_ns);
  base::Status setIntervals(int64_t interval_ns) const;
  bool isOurs() const;

  pid_t pid_;
  int lock_;  // held, so that two of us do not start one at the same time
  std::string root_;
  bool is_named_ = false;  // our process stands in it: without, it is another one
};

}  // namespace tidegauge::wss
