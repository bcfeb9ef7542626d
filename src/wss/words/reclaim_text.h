// Sentences about memory that the kernel reclaimed in a window: the figures are lower bounds then.
//
//   Careful: memory was short in the window: the kernel reclaimed 253 MiB, and 255 MiB were read
//   back. Ref is a lower bound, because reclaimed pages no longer count.
//   At least 98.1 MiB were touched: 51.8 MiB that are resident, 46.3 MiB that were reclaimed before
//   the window ended.
//   What cgroup /shop/db uses is larger than its limit of 64.0 MiB: 255 MiB were read back.
#pragma once

#include <string>
#include <vector>

#include "wss/measure/measure.h"

namespace tidegauge::wss {

// Empty: nothing was reclaimed.
std::vector<std::string> reclaimSentences(const Row& row);

// For several windows: in `windows` of `all` memory was reclaimed; `last` is of the last of them.
std::vector<std::string> reclaimSentences(size_t windows, size_t all, const Meanwhile& last);

}  // namespace tidegauge::wss
