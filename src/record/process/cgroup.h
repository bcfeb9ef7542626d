// A cgroup (v2) by its folder: the id that BPF programs see, and its depth.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace tidegauge::record {

struct Cgroup {
  uint64_t id = 0;
  uint32_t level = 0;  // 0: the root
};

// "/sys/fs/cgroup/system.slice/x.service", or from the root of the hierarchy: "/system.slice/x…".
base::Result<Cgroup> findCgroup(const std::string& folder);
// Whether a process is in it, or in one below it. False: it is not, or it is gone.
bool isInCgroup(uint32_t pid, const Cgroup& cgroup);
std::string mountOfCgroup2();  // empty: none

}  // namespace tidegauge::record
