// Which frames of memory hold the pages of a process: /proc/PID/pagemap, and what /proc/kpageflags
// says of each frame.
//
//   page 7f12a000 → frame 5123   4 KiB        → itself 5123
//   page 7f400000 → frame 9728 ┐ of a huge page
//   page 7f401000 → frame 9729 ┘              → both the first of it, 9728: what the kernel knows
//                                               of a large folio it knows of its first frame
//
// Needs root (CAP_SYS_ADMIN): the kernel shows frames to nobody else. Source:
// Documentation/admin-guide/mm/pagemap.rst.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wss/pages/mappings.h"
#include "wss/process/process.h"

namespace tidegauge::wss {

struct PageFrame {
  uint64_t first = 0;       // the frame, or the first one of its folio
  uint64_t number = 0;      // the frame
  uint32_t use = 0;         // which mapping it is of
  bool is_large = false;    // of a folio of several pages
  bool is_written = false;  // not as on disk
};

// The pages of all of `uses` that are in memory, by their frames; not the page of zeros, nor a
// driver's. Adds to the sums of `uses` what has no frame of that kind: swap, hugetlb. `flags_path`:
// /proc/kpageflags.
base::Result<std::vector<PageFrame>> readFrames(const Process& process,
                                                std::vector<MappingUse>& uses,
                                                const std::string& flags_path);

}  // namespace tidegauge::wss
