// The result of a comparison in sentences: a verdict, and the details below it.
//
//   Alike: 33.74 GiB and 33.74 GiB at the peak; all 26 stacks hold the same bytes.
//   - All 3,274 events are the same in action, size and stack, in the same order.
#pragma once

#include <string>
#include <vector>

#include "analysis/compare/diff.h"

namespace tidegauge::report {

std::string diffVerdict(const analysis::Diff& diff);
std::vector<std::string> diffParticulars(const analysis::Diff& diff);
// "cuda:0, step 3,260 of 3,274, 1.951 s"
std::string placeText(const analysis::DiffSide& side);
std::string markOf(const analysis::DiffSide& side);  // " (incomplete)", or empty

}  // namespace tidegauge::report
