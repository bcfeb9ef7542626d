// What stacks that grow held at the points and hold at the end, and how they grow.
//
// Cost: for each group of points that lie close together, O(live blocks + allocations there), so
// that points far apart in a long recording need not all that is between them.
#pragma once

#include "analysis/growth/growth.h"

namespace tidegauge::analysis {

// Sets outstanding_bytes, what is retained, the kind and the example of each of growth.stacks.
void describe(const AnalysedTrace& analysed, const DeviceAnalysis& device, Growth& growth);

}  // namespace tidegauge::analysis
