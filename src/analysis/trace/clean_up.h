// Where the last clean-up of a program begins: from there on it only frees, until its end.
//
//   alloc alloc free alloc alloc alloc │ free free free free   exit
//                                      ╰── cleanUpStep()
//
// What an interpreter, exit handlers and destructors free then says nothing about what was kept
// while the program worked, so growth and the wall only use the time before. The clean-up is the
// run of frees after the last request on any device (a refused request counts too). It exists only
// if a recording shows that the program ended: a running program, or a snapshot, may just be
// between two requests. Cost: O(events of that run), on each device.
#pragma once

#include "model/trace.h"

namespace tidegauge::analysis {

// The first step of the clean-up; the number of steps if there is none.
model::Step cleanUpStep(const model::Trace& trace, const model::Device& device);

}  // namespace tidegauge::analysis
