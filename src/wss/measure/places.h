// Where a working set fits and where it does not: sizes of the machine, and the knee of a profile.
//
//   touched ▲ - - - - - - - - - - L3
//           │          ▁▂▃▃▃▃▃▃      the knee: from there on a longer window adds little
//           │    ▂▄▆█ ▲
//           └─────────┴──────────► window
#pragma once

#include <string>
#include <vector>

#include "wss/process/machine.h"

namespace tidegauge::wss {

// In a window of so long.
struct Touched {
  int64_t window_ns = 0;
  uint64_t bytes = 0;
  uint64_t rss_bytes = 0;  // that were there; 0: not known
};

// A size that something of the machine has.
struct Place {
  std::string name;
  uint64_t bytes = 0;
  std::string words;  // beside its size
};
// Those that are known, smallest first.
std::vector<Place> placesOf(const Machine& machine);

// The first window that the longest one exceeds by no more than a tenth; `rows` is not empty.
size_t kneeOf(const std::vector<Touched>& rows);

}  // namespace tidegauge::wss
