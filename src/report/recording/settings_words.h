// The allocator settings as a line of text.
//
//   "default"    "max_split_size_mb:128"
//   "expandable_segments:True (asked for, not in effect on this platform)"
#pragma once

#include <string>

#include "model/trace.h"

namespace tidegauge::report {

std::string settingsWords(const model::AllocatorSettings& settings);

}  // namespace tidegauge::report
