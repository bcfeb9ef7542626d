// The page cache of a cgroup that no process maps, and how much of it was used in a window. read()
// and write() use it without a page table, so only the kernel's idle flag shows that.
//
//   /proc/kpagecgroup   frame 7 → inode 4711, the cgroup     frames of the cgroup
//   /proc/kpageflags    frame 7 → on a list, not anonymous, not mapped     … of its page cache
//   page_idle/bitmap    clear(): marks them idle; read(): those that are not idle were used
//
//   clear() ──── SECONDS ────► read() → 256 MiB, 64 MiB of them used; /srv/data 64 of 256
//
// A page counts for the cgroup that read it first. A page that came from the disk in the window
// counts as used; one that was reclaimed in it is missing.
// Cost: that of cache_frames.h before and after the window; for files see cached_files.h.
// Source: Documentation/admin-guide/mm/pagemap.rst, idle_page_tracking.rst.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "wss/process/process.h"
#include "wss/window.h"

namespace tidegauge::wss {

struct CachedBytes {
  uint64_t bytes = 0, referenced = 0;
};

struct CacheUse {
  struct File {
    std::string name;  // as the process has it open; arbitrary bytes
    CachedBytes of_it;
  };
  std::string cgroup{};
  CachedBytes all{};
  std::vector<File> files{};  // most used first
  CachedBytes unnamed{};      // of files that could not be named, mostly as none has them open
  int64_t window_ns = 0, cpu_ns = 0;
  std::string problem{};  // why nothing was measured; empty: it was
};

class CgroupCache {
 public:
  // "/shop/db", or with the folder where cgroups are. `root`: prefix of /sys and /proc; for tests.
  static base::Result<CgroupCache> open(const std::string& cgroup, const std::string& root = {});

  base::Status clear(Clock& clock);
  // Names come from the files that `processes` have open.
  base::Result<CacheUse> read(const std::vector<const Process*>& processes, Clock& clock);

 private:
  CgroupCache(std::string cgroup, std::string root, std::string folder)
      : cgroup_(std::move(cgroup)), root_(std::move(root)), folder_(std::move(folder)) {}

  std::string cgroup_, root_, folder_;
  int64_t marked_ns_ = 0, cpu_ns_ = 0;
};

}  // namespace tidegauge::wss
