// The recording verified by replay, and the device for other settings: derived from an
// out-of-memory event, from refusals, from an unrecorded limit, from a fraction of a device of
// unknown size, or given by the user.
//
//   OOM with 0 B free, 6 GiB held      → the process could have 6 GiB
//   OOM with 30 GiB free, 6 GiB held   → a limit of 6 GiB or a little more
//   --capacity 24GiB                   → another card
//
// Cost: one to some 25 replays.
#pragma once

#include "analysis/what_if/what_if.h"

namespace tidegauge::analysis {

// Tries no candidates: the caller does. Only for replayable devices.
WhatIf provenOn(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                const WhatIfWish& wish);

}  // namespace tidegauge::analysis
