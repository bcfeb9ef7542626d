// writtenTrace(): the recording that PyTorch would have written for a program under other settings,
// so that everything that shows a recording can show a replay: its states, its timeline, its map.
//
//   program + settings  →  events, final blocks  →  lives  →  a Trace
//
// Events have the stack, time and text of the requests that caused them; annotations keep their
// places. Its issue kReplayed marks it as a replay. Cost: a replay (about 0.1 µs per event), plus
// the cost of reading such a file.
#pragma once

#include "replay/what_if.h"

namespace tidegauge::replay {

struct WrittenTrace {
  model::Trace trace;  // one device; lives are built
  Outcome outcome;
};

// `options.witness` is not used. `conf`: the settings as text.
WrittenTrace writtenTrace(const Tape& tape, const Program& program, const WhatIfOptions& options,
                          const std::string& conf);

}  // namespace tidegauge::replay
