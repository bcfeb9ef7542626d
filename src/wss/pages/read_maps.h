// /proc/PID/maps: where a process has memory, without what is in it. Cost: 0.3 µs per mapping,
// where the text of smaps takes as long as a walk through all pages.
#pragma once

#include <vector>

#include "wss/pages/mappings.h"
#include "wss/process/process.h"

namespace tidegauge::wss {

// In the order of addresses; without the kernel's own ([vsyscall]), which is in no table of the
// process. `about`: the expected number.
base::Result<std::vector<MappingUse>> readMaps(const Process& process, size_t about = 0);

}  // namespace tidegauge::wss
