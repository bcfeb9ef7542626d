// Where a working set fits and where it does not: sizes in the machine, and the knee of a profile.
//
//   touched ▲ - - - - - - - - - - L3
//           │          ▁▂▃▃▃▃▃▃      the knee: from there on, longer windows add little
//           │    ▂▄▆█ ▲
//           └─────────┴──────────► window
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wss/machine/machine.h"

namespace tidegauge::wss {

// In a window of this length.
struct Touched {
  int64_t window_ns = 0;
  uint64_t bytes = 0;
  uint64_t rss_bytes = 0;     // resident bytes; 0: unknown
  bool is_reclaimed = false;  // Meanwhile::is_reclaimed
  bool misses_some = false;   // Meanwhile::unseen has some, or it was not flushed
};

inline constexpr std::string_view kLimitName = "limit";  // of the place that is a cgroup's limit

// A size of a part of the machine.
struct Place {
  std::string name;
  uint64_t bytes = 0;
  std::string words;  // shown beside its size
};
// The known ones, smallest first.
std::vector<Place> placesOf(const Machine& machine);

// The first window that the longest one exceeds by at most a tenth; `rows` is not empty.
size_t kneeOf(const std::vector<Touched>& rows);

}  // namespace tidegauge::wss
