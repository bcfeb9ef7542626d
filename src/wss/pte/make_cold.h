// process_madvise(MADV_COLD): takes the accessed bit from ranges of another process, and flushes
// what its processors have cached of those pages (x86 Linux, of more than 33 in one range: of all).
//
//   {0x7f00_0000…0x7f02_0000, …} → 32 pages are untouched from now on
//
// Needs Linux 5.10. Locked memory, and pages that a forked process maps too, stay as they are.
// Cost, measured: 1.6 µs for each range and 45 ns for each of its pages; of a process that runs
// also an interrupt to its processor for each range of which a page was touched, 10 to 20 µs in a
// virtual machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wss/pages/mappings.h"
#include "wss/process/process.h"
#include "wss/window.h"

namespace tidegauge::wss {

struct MadeCold {
  int64_t longest_ns = 0;            // of its calls: so long the process's mmap had to wait
  std::vector<AddressRange> locked;  // that could not be made so
};
// What was unmapped meanwhile is passed over.
base::Result<MadeCold> makeCold(const Process& process, std::span<const AddressRange> ranges,
                                Clock& clock);

}  // namespace tidegauge::wss
