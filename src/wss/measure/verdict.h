// The meaning of windows of several lengths for a working set, in a sentence for the terminal and
// the page.
//
//   touched ▲   ▂▄▆▇▇▇     Longer windows add little            the knee: at 0.8 s
//           │   ▂▃▄▅▆█     It still grows                       no knee
//           │   ▅██▁▁▁     It freed memory between windows, or the kernel reclaimed some
//           │                                                   no knee: not comparable
//           └────────► window
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wss/measure/places.h"

namespace tidegauge::wss {

struct Verdict {
  std::optional<size_t> knee{};  // the first row after which longer windows add little
  std::string text{};            // empty: fewer than two rows, which show nothing
};

// `longer`: the option for a longer window, such as "-P with more steps".
Verdict verdictOf(const std::vector<Touched>& rows, std::string_view longer);

}  // namespace tidegauge::wss
