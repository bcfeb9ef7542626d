// Gaps: places in a recording before which events are missing. A ring buffer that was made smaller
// while it recorded keeps a part of its old events; what lay between them and the new ones is gone.
//
//   old part │ new part      events 0…79 │ 80…119     a seam at step 80
//   alloc x  │ alloc x       x was freed in between   → a gap: x ends at step 80
//
// A seam is where the reader joined runs of events. It is a gap if an event after it cannot follow
// an event before it. Cost: O(events), only for files with seams.
#pragma once

#include <vector>

#include "model/trace.h"

namespace tidegauge::model {

// The seams of the device before which events are missing, ascending.
std::vector<Step> findGaps(const Trace& trace, const Device& device);

// The first gap in [from, to], the last one; kNoStep if there is none. O(log gaps).
Step firstGap(const Device& device, Step from, Step to);
Step lastGap(const Device& device, Step from, Step to);

}  // namespace tidegauge::model
