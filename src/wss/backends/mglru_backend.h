// mglru: how much of a cgroup was touched, by the generations in which the kernel keeps pages.
//
//   generation   5     6     7     clear: "age 7"         ► 8 is the youngest, and empty
//                      the process touches some pages
//   generation   6     7     8     read: "age 8"          ► what was touched since is now in 8 or 9
//
// An aging walks through the page tables of all processes of the cgroup. The figures describe the
// cgroup, not one process: each page is counted once, however many map it, and page cache too.
// Cost, measured in an emulated machine: 10 to 60 ms for 256 MiB. Source:
// Documentation/admin-guide/mm/multigen_lru.rst, mm/vmscan.c (lru_gen_seq_write).
#pragma once

#include "wss/backends/backend.h"
#include "wss/backends/flush.h"
#include "wss/machine/lru_gen.h"

namespace tidegauge::wss {

class MglruBackend final : public Backend {
 public:
  // Whether this kernel has generations and allows aging them. `root`: prefix of /sys; for tests.
  static base::Status check(const std::string& root = {});
  // For the cgroup of this process. All its processes are flushed, or none: Flush::kSwitches.
  static base::Result<MglruBackend> open(const Process& process, Flush flush,
                                         const std::string& root = {});

  std::string_view name() const override { return "mglru"; }
  std::string how() const override;
  std::vector<std::string> limits() const override;
  base::Result<Clearing> clear(const Process& process, Clock& clock) override;
  base::Result<Reading> read(const Process& process, Clock& clock) override;

 private:
  struct Mark {
    uint64_t node = 0;
    uint64_t first_young = 0;  // generation: this one and later ones were touched since
  };

  MglruBackend(std::string root, uint64_t id, std::string path, Flush flush)
      : Backend({.knows_sharing = false, .cgroup = std::move(path)}),
        root_(std::move(root)),
        id_(id),
        flush_(flush) {}
  base::Result<LruGroup> look() const;
  // Creates one more generation on each node; returns the table after that.
  base::Result<LruGroup> age() const;

  std::string root_;
  uint64_t id_;
  Flush flush_;
  std::vector<Mark> marks_;  // of the last clearing
};

}  // namespace tidegauge::wss
