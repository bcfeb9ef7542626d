// Random traces that contradict themselves: a small heap's events with some dropped, doubled and
// exchanged, made-up events between them, and final segments that may overlap.
//
//   Trace trace = messyTrace({.seed = 7, .wild = true});   // lives are built
#pragma once

#include <cstdint>

#include "model/trace.h"

namespace tidegauge::testing {

struct MessOptions {
  uint64_t seed = 1;
  int events = 150;
  bool wild = false;  // any 64-bit sizes and addresses, not only plausible ones
};

model::Trace messyTrace(const MessOptions& options);

}  // namespace tidegauge::testing
