// Titles of the verdicts on an out-of-memory event (analysis/oom/oom_verdict.h).
//
//   kFragmentation → "Fragmentation"     kHeldInPool → "Held in a pool"
#pragma once

#include <string>

#include "analysis/oom/oom_verdict.h"

namespace tidegauge::report {

inline std::string title(const analysis::OomVerdict& of, analysis::Verdict verdict) {
  if (verdict == analysis::Verdict::kCap && of.cap && !of.cap->isFixed())
    return "Refused although memory was free";
  constexpr const char* kTitles[] = {"Fragmentation",
                                     "Cached in another pool or stream",
                                     "Capacity",
                                     "Waste inside blocks",
                                     "Held by others",
                                     "A limit of the process",
                                     "A flaw of the allocator",
                                     "Held in a pool",
                                     "No flush during a capture",
                                     "Larger than could ever fit"};
  return kTitles[static_cast<size_t>(verdict)];
}

}  // namespace tidegauge::report
