// What `report` says of a whole recording before it tells of its processes: which part of several
// files it is, the processes, biggest first, and what the driver itself says of its GPUs.
//
//   3 processes called for memory, launched or copied
//           peak        live   launches   copied   refused  process
//     4,008 MiB   3,842 MiB     12,345  1.2 GiB         1  4711 python, exit 0
//   › SQL · SELECT … FROM all_processes;
#pragma once

#include <string>
#include <vector>

#include "analysis/trace/whole_recording.h"
#include "report/words/text_options.h"

namespace tidegauge::report {

// Rows of whole.processes, biggest peak first.
std::vector<size_t> biggestFirst(const analysis::WholeRecording& whole);

// At most `rows`, the rest summed in one more.
std::string processesText(const analysis::WholeRecording& whole, size_t rows,
                          const TextOptions& options);

// Of each GPU: how much of it was used at most, by whom, and what of it no call had handed out.
// Empty where the driver told nothing.
std::string gpusText(const analysis::WholeRecording& whole, const TextOptions& options);

// Which part of a recording with --max-size it is; empty: it is whole. `beside`: names of the parts
// before it that are still in its folder, oldest first.
std::string partText(const analysis::WholeRecording& whole, const std::vector<std::string>& beside,
                     const TextOptions& options);

}  // namespace tidegauge::report
