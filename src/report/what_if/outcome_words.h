// The answer of a replay in a sentence: the best setting, or that none helps. `whatif` and the
// section "replay" of `report` say the same.
//
//   "The result is best with expandable_segments:True: no request fails (3 did in the recording),
//    and peak reserved memory is 5.65 GiB or more instead of 5.96 GiB."
//   "2 settings let one more request succeed, but not all: max_split_size_mb:128; …"
#pragma once

#include <string>
#include <vector>

#include "analysis/what_if/what_if.h"
#include "report/words/sentence.h"

namespace tidegauge::report {

// The best candidate helps.
std::vector<Part> bestOutcome(const analysis::WhatIf& report);
// There are candidates, and none helps.
std::vector<Part> noneOutcome(const analysis::WhatIf& report);
// From which limit on a setting would help; empty: none would, or any limit explains it.
std::string fromLimitWords(const analysis::WhatIf& report);

}  // namespace tidegauge::report
