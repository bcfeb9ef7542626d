// What one activity costs inside the program: measured before a recording begins, with the code
// that the program runs (injection/records.c), on records of known layout.
//
//   handlingCost_ns()     // 120: of a thread of CUPTI's, per kernel; CUPTI's own cost comes on top
//
// Cost: some milliseconds.
#pragma once

#include <cstdint>

namespace tidegauge::record {

// The median of some rounds; 0: it could not be measured.
double handlingCost_ns();

}  // namespace tidegauge::record
