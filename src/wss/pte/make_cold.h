// process_madvise(MADV_COLD): clears the accessed bit of ranges of another process, and flushes
// what its processors have cached of those pages (on x86 Linux, for more than 33 in one range:
// everything).
//
//   {0x7f00_0000…0x7f02_0000, …} → 32 pages are untouched from now on
//
// Needs Linux 5.10. Locked memory, and pages that a forked process maps too, are unchanged. Cost,
// measured: 1.6 µs per range and 45 ns per page in it; for a running process also an interrupt to
// its processor per range with a touched page, 10 to 20 µs in a virtual machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wss/pages/mappings.h"
#include "wss/process/process.h"
#include "wss/window.h"

namespace tidegauge::wss {

struct MadeCold {
  int64_t longest_ns = 0;            // the longest call: the process's mmap had to wait for it
  std::vector<AddressRange> locked;  // that could not be made cold
};
// Ranges that were unmapped meanwhile are skipped.
base::Result<MadeCold> makeCold(const Process& process, std::span<const AddressRange> ranges,
                                Clock& clock);

}  // namespace tidegauge::wss
