// Since when, and until when, each process was watched.
//
//   record -p 4711   process  ──────────┬────────────────┬──►   watched_from_ns: the recorder came
//                              ran_before                       watched_to_ns: its end, or that of
//                                                               the recording
//
// Cost: O(rows of unwatched + processes · log).
#pragma once

#include "model/recorded_work.h"

namespace tidegauge::model {

// Fills the columns of run.processes, from them, unwatched and ended_ns.
void fillWatched(RecordedRun& run);

}  // namespace tidegauge::model
