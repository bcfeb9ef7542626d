// Where the last clean-up of a program begins: from there on it only gave back, until it ended.
//
//   alloc alloc free alloc alloc alloc │ free free free free   exit
//                                      ╰── cleanUpStep()
//
// What an interpreter, exit handlers and destructors give back then says nothing about what was
// kept while the program worked: growth and the wall are looked for before. It is the run of frees
// after the last time at which the program asked for memory on any device (a refused request is one
// too). Only where a recording tells that the program ended: one that runs on, and a snapshot, may
// only be between two requests. Cost: O(events of that run), on each device.
#pragma once

#include "model/trace.h"

namespace tidegauge::analysis {

// The first step of the clean-up; the number of steps where there is none.
model::Step cleanUpStep(const model::Trace& trace, const model::Device& device);

}  // namespace tidegauge::analysis
