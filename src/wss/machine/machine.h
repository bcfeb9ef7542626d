// Sizes that a working set may or may not fit: the caches and the TLB of a processor, the limit of
// a cgroup, memory.
//
//   L2 2 MiB  L3 32 MiB for 16 processors TLB 3,072 entries: 12 MiB in pages of 4 KiB limit 512 MiB
//
// Cost: a few small files. Source: Documentation/ABI/testing/sysfs-devices-system-cpu; AMD APM
// volume 3, Fn8000_0006; Intel SDM volume 2, CPUID leaf 18H.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "wss/process/process.h"

namespace tidegauge::wss {

// 0: unknown, or none.
struct Machine {
  uint64_t l2_bytes = 0, l3_bytes = 0;
  uint32_t l3_processors = 0;     // that share the L3
  uint64_t tlb_entries = 0;       // for data, second level, for pages of 4 KiB
  uint64_t huge_tlb_entries = 0;  // for pages of 2 MiB
  uint64_t limit_bytes = 0;       // of the process's cgroup, or the smallest of those above it
  std::string limit_of{};         // that cgroup
  uint64_t memory_bytes = 0;      // of the machine
};

// `root`: prefix of /sys and /proc/meminfo, for tests. Virtual machines seldom report the real TLB:
// there it is omitted.
Machine lookAtMachine(const Process& process, const std::string& root = {});
// The same for several together: a limit that does not hold for all of them is left out.
Machine lookAtMachine(const std::deque<Process>& processes, const std::string& root = {});

}  // namespace tidegauge::wss
