// What a working set fits and does not, in sentences; and the chart of a profile.
//
//   20 MiB touched in 0.1 s: more than L2 (1 MiB), within L3 (32 MiB, which 2 processors share).
//
//   Window(s)    Ref(MB)
//       0.010       1.05  █                    windows on a scale of powers of two
//       0.020      20.05  ███████████│█████    │ L3
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wss/measure/places.h"

namespace tidegauge::wss {

// Of one window. Empty: nothing of the machine is known.
std::string fitText(const Touched& touched, const Machine& machine, size_t columns);

// Of the windows of a profile: what was touched in each window, with lines where L2, L3, the TLB
// and the limit end, and what that says: from which window on a longer one adds little, or that all
// there is was touched; nothing of the kind where memory was given back between windows, which
// takes from the later ones.
std::string profileText(const std::vector<Touched>& rows, const Machine& machine, size_t columns);
// Its last sentence. Empty if there are not two windows.
std::string profileVerdict(const std::vector<Touched>& rows);
// Which window that is; nothing where a longer one would tell more, and where memory was given
// back.
std::optional<size_t> profileKnee(const std::vector<Touched>& rows);

}  // namespace tidegauge::wss
