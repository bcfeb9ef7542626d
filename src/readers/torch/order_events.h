// Puts events in order of time where a ring buffer was resized while it recorded. PyTorch unrolls
// the ring as if its size had never changed, so that runs of events come in another order:
//
//   ring made larger     old · newest · middle    →  old · middle · newest
//   ring made smaller    new · old · newest       →  old · new · newest   (with a gap after old)
//
// Times also go back by a little where threads raced. So the order of time is used only if it
// resolves contradictions (an alloc at a live address, a second free), or if it resolves none but
// whole runs moved. Cost: one pass over the times; if they go back, O(events log events).
#pragma once

#include "model/trace.h"

namespace tidegauge::readers::torch {

// Reorders the device's events, sets device.seams (the steps at which runs meet), and reports that,
// or that times go back. True if it reordered them.
bool orderEvents(model::Trace& trace, model::Device& device);

}  // namespace tidegauge::readers::torch
