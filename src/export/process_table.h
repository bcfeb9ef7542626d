// The processes of a recording, biggest first: what `report` says before it tells of each.
//
//   3 processes called for memory, launched or copied
//           peak        live   launches   copied   refused  process
//     4,008 MiB   3,842 MiB     12,345  1.2 GiB         1  4711 python, exit 0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysed_trace.h"

namespace tidegauge::exporting {

struct ProcessSums {
  size_t trace = 0;                         // index
  uint64_t peak_bytes = 0, live_bytes = 0;  // of its GPUs; peaks of several are added
  uint64_t launches = 0, copied_bytes = 0, refused = 0;
  // Before the figures: "≥ " at least, "~ " incomplete, nothing if they are the whole truth.
  std::string_view memory_mark, launches_mark, copies_mark;
};
// Biggest peak first.
std::vector<ProcessSums> processSums(const std::vector<const analysis::AnalysedTrace*>& traces);

// At most `rows`, the rest summed in one more.
std::string processesText(const std::vector<const analysis::AnalysedTrace*>& traces, size_t rows,
                          size_t columns, bool colour);

}  // namespace tidegauge::exporting
