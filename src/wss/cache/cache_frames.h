// The frames of memory that hold page cache of some cgroups which no process maps.
//
//   frame   kpagecgroup   kpageflags
//   7       4711          lru               page cache                   → {7, 7}
//   8       4711          lru, anon         memory of a process
//   9       4711          lru, mmap         page cache that is mapped
//   10      4711          lru, head         a large folio                → {10, 10}
//   11      4711          tail                                           → {11, 10}
//
// What the kernel knows of a folio, it knows of its first frame.
// Cost: up to 16 bytes for each frame of the machine: 0.6 s for 25 GiB of memory.
// Source: Documentation/admin-guide/mm/pagemap.rst.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidegauge::wss {

struct CacheFrame {
  uint64_t number = 0;
  uint64_t first = 0;  // of its folio
};

// In the order of frames. `root`: prefix of /proc; for tests.
base::Result<std::vector<CacheFrame>> cacheFramesOf(const std::set<uint64_t>& cgroup_inodes,
                                                    const std::string& root);

}  // namespace tidegauge::wss
