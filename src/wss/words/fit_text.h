// What a working set fits and does not fit, in sentences; and the chart of a profile.
//
//   20 MiB were touched in 0.1 s (0.098 s of CPU time), more than L2 (1 MiB) and within L3 (32 MiB,
//   which 2 processors share).
//
//   Window(s)    Ref(MB)
//       0.010       1.05  █                    windows on a scale of powers of two
//       0.020      20.05  ███████████│█████    │ L3
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wss/measure/measure.h"
#include "wss/measure/places.h"

namespace tidegauge::wss {

// For one window, `touched` in `row` or in the windows that end with it. It names only sizes that
// the error of the figure allows. Empty: nothing of the machine is known.
std::string fitText(const Touched& touched, const Row& row, const Machine& machine, size_t columns);

// For the windows of a profile: the touched bytes of each window, with lines for the sizes of L2,
// L3, the TLB and the limit, and a conclusion: from which window on longer ones add little, or that
// all resident memory was touched. Without a conclusion if memory was freed between windows, since
// that distorts the later ones.
std::string profileText(const std::vector<Touched>& rows, const Machine& machine, size_t columns);
// Its last sentence. Empty for fewer than two windows.
std::string profileVerdict(const std::vector<Touched>& rows);
// The index of that window; absent if a longer one would show more, or if memory was freed.
std::optional<size_t> profileKnee(const std::vector<Touched>& rows);

}  // namespace tidegauge::wss
