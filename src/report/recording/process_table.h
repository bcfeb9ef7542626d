// The part of `report` about a whole recording, before its processes: which part of several files
// it is, the processes, largest first, and the driver's figures for its GPUs.
//
//   3 processes called for memory, launched or copied
//           peak        live   launches   copied   refused  process
//     4,008 MiB   3,842 MiB     12,345  1.2 GiB         1  4711 python, exit 0
//   › SQL · SELECT … FROM all_processes;
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/trace/whole_recording.h"
#include "report/words/text_options.h"

namespace tidegauge::report {

// Rows of whole.processes, largest peak first.
std::vector<size_t> biggestFirst(const analysis::WholeRecording& whole);

// "≥ ", "~ " or nothing, before a figure.
std::string_view signOf(analysis::Sureness sureness);
// "4711 python, exit 0"
std::string processName(const analysis::ProcessSum& sum);

// At most `rows`; one more row sums the rest.
std::string processesText(const analysis::WholeRecording& whole, size_t rows,
                          const TextOptions& options);

// For each GPU: its peak use, by whom, and the part that no call allocated. Empty if the driver
// reported nothing.
std::string gpusText(const analysis::WholeRecording& whole, const TextOptions& options);

// Which part of a recording with --max-size it is; empty: it is complete. `beside`: names of
// earlier parts that are still in its folder, oldest first.
std::string partText(const analysis::WholeRecording& whole, const std::vector<std::string>& beside,
                     const TextOptions& options);

}  // namespace tidegauge::report
