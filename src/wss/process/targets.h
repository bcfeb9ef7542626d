// Which processes are meant: by number, with their children, by name, by cgroup.
//
//   4711 --children        4711, what it forked, and what those forked
//   --comm postgres        all of that name, as the kernel has it: 15 bytes
//   --cgroup /shop/db      all in it and in those below it
//
// Found as they are now: ask again for what starts later. Threads of the kernel are left out.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace tidegauge::wss {

struct Targets {
  std::vector<pid_t> pids = {};
  bool children = false;
  std::string comm = {};  // empty: not by that
  std::string cgroup = {};
};

// In order, each once; an error if there is none. `root`: before /proc and /sys, for tests.
base::Result<std::vector<pid_t>> findTargets(const Targets& targets, const std::string& root = {});

}  // namespace tidegauge::wss
