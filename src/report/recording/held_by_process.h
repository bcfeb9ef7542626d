// The answer of `report` to a whole recording, before anything else: who held what when it ended.
//
//   At the end: 7.8 GiB of device memory, held by 2 of 3 processes
//        held   blocks  of         process
//     5.1 GiB    1,204  physical   4711 python, ran on
//     2.7 GiB       12  device     4712 python, exit 0
//
// "The end" is that of each process: what it had not freed when it, or the recording, ended.
#pragma once

#include <string>

#include "analysis/trace/whole_recording.h"
#include "report/words/text_options.h"

namespace tidegauge::report {

// At most `rows`, most bytes first. Empty if no process was recorded.
std::string heldByProcessText(const analysis::WholeRecording& whole, size_t rows,
                              const TextOptions& options);

}  // namespace tidegauge::report
