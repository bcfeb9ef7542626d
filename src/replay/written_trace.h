// writtenTrace(): the recording that PyTorch would have written of a program under other settings,
// so that whatever shows a recording shows a replay: its state step by step, its timeline, its map.
//
//   program + settings  →  events, final blocks  →  lives  →  a Trace
//
// Events have the stack, time and text of those that asked for them; annotations lie where they
// lay. It has an issue (kReplayed) that says what it is. Cost: a replay (about 0.1 µs an event),
// and what reading such a file takes.
#pragma once

#include "replay/what_if.h"

namespace tidegauge::replay {

struct WrittenTrace {
  model::Trace trace;  // one device; lives are built
  Outcome outcome;
};

// `options.witness` is not used. `conf`: the settings in words.
WrittenTrace writtenTrace(const Tape& tape, const Program& program, const WhatIfOptions& options,
                          const std::string& conf);

}  // namespace tidegauge::replay
