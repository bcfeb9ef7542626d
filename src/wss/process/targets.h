// Which processes to measure: by number, with their children, by name, by cgroup.
//
//   4711 --children        4711, what it forked, and what those forked
//   --comm postgres        all with that name, which has 15 bytes in the kernel
//   --cgroup /shop/db      all in it and in those below it
//
// The processes that exist now: ask again for later ones. Kernel threads are left out.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidegauge::wss {

struct Targets {
  std::vector<pid_t> pids = {};
  bool children = false;
  std::string comm = {};  // empty: not by name
  std::string cgroup = {};
  bool isByRule() const { return !comm.empty() || !cgroup.empty(); }
};

// In order, each once; an error if there is none. `root`: prefix of /proc and /sys, for tests.
base::Result<std::vector<pid_t>> findTargets(const Targets& targets, const std::string& root = {});

// The folder of a cgroup where its memory is counted. `cgroup`: as /proc/PID/cgroup has it, or with
// the folder where cgroups are.
base::Result<std::string> memoryCgroupFolder(const std::string& cgroup,
                                             const std::string& root = {});

// Calls `visit` with the folder of a cgroup and of all below it. Skips those that end meanwhile.
void eachCgroupBelow(const std::string& folder,
                     const std::function<void(const std::string& folder)>& visit);

}  // namespace tidegauge::wss
