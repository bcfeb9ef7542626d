// The period in which each process was watched.
//
//   record -p 4711   process  ──────────┬────────────────┬──►   watched_from_ns: the recorder began
//                              ran_before                       watched_to_ns: the process or the
//                                                               recording ended
//
// Cost: O(rows of unwatched + processes · log).
#pragma once

#include "model/recorded_work.h"

namespace tidegauge::model {

// Fills these columns of run.processes from the others, unwatched and ended_ns.
void fillWatched(RecordedRun& run);

}  // namespace tidegauge::model
