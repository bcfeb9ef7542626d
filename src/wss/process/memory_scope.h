// What the kernel tells of memory being short: for a cgroup, or for the whole machine.
//
//   /sys/fs/cgroup/shop/db/memory.stat       workingset_refault_file 1204   pages that came back
//   /sys/fs/cgroup/shop/db/memory.pressure   some … total=93010             µs of tasks waiting
//
// Only cgroups of version 2 keep both; of others the machine's are read (/proc/vmstat,
// /proc/pressure/memory). Reads, and changes nothing. Cost: two small files. Source:
// Documentation/admin-guide/cgroup-v2.rst, Documentation/accounting/psi.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wss/process/process.h"

namespace tidegauge::wss {

// Since it began to count. All but the times in bytes.
struct MemoryCounters {
  uint64_t refaulted_file = 0;       // that were taken away and came back before long
  uint64_t refaulted_anonymous = 0;  // the same, from swap
  uint64_t scanned = 0;              // looked at in the search for something to take away
  uint64_t taken = 0;
  // That tasks waited for memory: one of them at least, all of them. Not set: this kernel does not
  // say.
  std::optional<int64_t> some_ns = std::nullopt, full_ns = std::nullopt;
  uint64_t refaulted() const { return refaulted_file + refaulted_anonymous; }
};

// What was counted between two looks; never less than nothing.
MemoryCounters operator-(const MemoryCounters& now, const MemoryCounters& before);

void add(MemoryCounters& sum, const MemoryCounters& more);

// Of the texts of memory.stat or vmstat, and of a pressure file. Rows of no known name are passed
// over.
MemoryCounters parseMemoryCounters(std::string_view stat, std::string_view pressure,
                                   uint64_t page_bytes);

class MemoryScope {
 public:
  // Of the cgroup where the process's memory is counted, if that is told there; else of the
  // machine. `root`: before /sys and /proc, for tests.
  static MemoryScope of(const Process& process, std::string root = {});
  static MemoryScope ofCgroup(std::string path, std::string root = {});  // "/shop/db"

  const std::string& cgroup() const { return cgroup_; }  // empty: the machine
  const std::string& root() const { return root_; }
  std::string folder() const;  // of its files; of a cgroup alone
  base::Result<MemoryCounters> look() const;

 private:
  MemoryScope(std::string cgroup, std::string root)
      : cgroup_(std::move(cgroup)), root_(std::move(root)) {}
  std::string cgroup_, root_;
};

}  // namespace tidegauge::wss
