// What of a recording that was opened could not be read, in words for standard error:
//
//   "run.sqlite is damaged, what is told of it may be wrong. Not read to the end: table copies
//    (database disk image is malformed). Passed over: 5 rows that contradict the rest."
#pragma once

#include <string>

#include "model/trace.h"

namespace tidegauge::cli {

// Of the whole file, the same from each of its traces. Empty: nothing.
std::string damageOf(const model::Trace& trace, const std::string& path);

// "ranks.zip: rank3.pickle: ends in the middle of a value. The rest of the archive was read.";
// empty: all was. `trace` is any of the archive.
std::string unreadMembersOf(const model::Trace& trace, const std::string& path);

}  // namespace tidegauge::cli
