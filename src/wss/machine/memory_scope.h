// The kernel's counters of memory pressure: for a cgroup, or for the whole machine.
//
//   /sys/fs/cgroup/shop/db/memory.stat       workingset_refault_file 1204   refaulted pages
//   /sys/fs/cgroup/shop/db/memory.pressure   some … total=93010             µs of tasks waiting
//
// Only cgroups of version 2 have all. Those of version 1 have refaults; what was scanned and taken,
// and the waiting, is then the machine's (/proc/vmstat, /proc/pressure/memory), as it is without a
// cgroup. But what the kernel takes from a cgroup that is at its limit is that cgroup's alone, so
// it counts only if this cgroup, or one above it, was at its limit (memory.failcnt and the like).
// It only reads. Cost: two or three small files. Source: Documentation/admin-guide/ cgroup-v2.rst,
// cgroup-v1/memory.rst, accounting/psi.rst.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wss/process/process.h"

namespace tidegauge::wss {

// Since counting began. Bytes, except for the times.
struct MemoryCounters {
  uint64_t refaulted_file = 0;       // reclaimed and soon read again
  uint64_t refaulted_anonymous = 0;  // the same, from swap
  uint64_t scanned = 0;              // scanned for reclaim
  uint64_t taken = 0;
  // Time that tasks waited for memory: at least one of them, all of them. Absent: not reported by
  // this kernel.
  std::optional<int64_t> some_ns = std::nullopt, full_ns = std::nullopt;
  // Only with a cgroup of version 1: how often it, or one above it, was at its limit; and the part
  // of `scanned` and `taken` that was because the memory of the machine was short.
  std::optional<uint64_t> limit_hits = std::nullopt;
  uint64_t scanned_for_machine = 0, taken_for_machine = 0;
  uint64_t refaulted() const { return refaulted_file + refaulted_anonymous; }
};

// The counts between two readings; never negative.
MemoryCounters operator-(const MemoryCounters& now, const MemoryCounters& before);

void add(MemoryCounters& sum, const MemoryCounters& more);

// What a cgroup has charged at one moment, with the cgroups below it. Bytes.
struct CgroupMemory {
  uint64_t charged = 0;
  uint64_t inactive_file = 0;  // page cache that the kernel would reclaim first
  uint64_t cache = 0;          // page cache, with shared memory and tmpfs
  uint64_t mapped_cache = 0;   // of it, mapped by at least one process
  uint64_t own = 0;            // at most that much of `charged` is this program's; 0: it is outside
  // As cAdvisor and the kubelet compute it, which evict by it. Source: cAdvisor,
  // container/libcontainer/handler.go, setMemoryStats().
  uint64_t workingSet() const { return charged - std::min(charged, inactive_file); }
  uint64_t unmappedCache() const { return cache - std::min(cache, mapped_cache); }
};

// What a cgroup has charged now: memory.current, or memory.usage_in_bytes. 0: unknown.
uint64_t chargedBytes(const std::string& cgroup, const std::string& root = {});

// From the texts of memory.stat or vmstat, and of a pressure file. Unknown rows are skipped.
MemoryCounters parseMemoryCounters(std::string_view stat, std::string_view pressure,
                                   uint64_t page_bytes);

class MemoryScope {
 public:
  // For the cgroup that counts the process's memory, if it has the counters; else for the machine.
  // `root`: prefix of /sys and /proc, for tests.
  static MemoryScope of(const Process& process, std::string root = {});
  static MemoryScope ofCgroup(std::string path, std::string root = {});  // "/shop/db"

  const std::string& cgroup() const { return cgroup_; }  // empty: the machine
  // `scanned`, `taken` and the times are of the whole machine; with version 1 without what was
  // taken from other cgroups because of their limits.
  bool scansMachine() const { return cgroup_.empty() || is_version_1_; }
  const std::string& root() const { return root_; }
  std::string folder() const;  // of its files; only for a cgroup
  base::Result<MemoryCounters> look() const;
  std::optional<CgroupMemory> memory() const;  // nullopt: for the machine, or it cannot be read

 private:
  MemoryScope(std::string cgroup, std::string root, bool is_version_1 = false)
      : cgroup_(std::move(cgroup)), root_(std::move(root)), is_version_1_(is_version_1) {}
  uint64_t limitHits() const;
  std::string cgroup_, root_;
  bool is_version_1_ = false;
};

}  // namespace tidegauge::wss
