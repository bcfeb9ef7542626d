// The recording proven by replay, and the device that other settings are to be tried on: what an
// out of memory tells, what was refused, a limit that no file tells, a fraction of a device whose
// size none does, or what somebody asks about.
//
//   OOM with 0 B free, 6 GiB held      → the process could have 6 GiB
//   OOM with 30 GiB free, 6 GiB held   → a limit of 6 GiB or a little more
//   --capacity 24GiB                   → another card
//
// Cost: one to some 25 replays.
#pragma once

#include "analysis/what_if/what_if.h"

namespace tidegauge::analysis {

// Nothing is tried yet: candidates are for who asked. Only of devices that are replayable.
WhatIf provenOn(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                const WhatIfWish& wish);

}  // namespace tidegauge::analysis
