// The unreadable parts of an opened recording, as text for standard error:
//
//   "run.sqlite is damaged; its figures may be wrong. Not read to the end: table copies
//    (database disk image is malformed). Passed over: 5 rows that contradict the rest."
#pragma once

#include <string>

#include "model/trace.h"

namespace tidegauge::report {

// For the whole file, the same from each of its traces. Empty if all was read.
std::string damageOf(const model::Trace& trace, const std::string& path);

// "ranks.zip: rank3.pickle: ends in the middle of a value. The rest of the archive was read.";
// empty if all was read. `trace` is any trace of the archive.
std::string unreadMembersOf(const model::Trace& trace, const std::string& path);

}  // namespace tidegauge::report
