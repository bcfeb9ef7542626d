// What windows of several lengths say of a working set, in a sentence: for the terminal and for the
// page.
//
//   touched ▲   ▂▄▆▇▇▇     After 0.8 s little is added          the knee: at 0.8 s
//           │   ▂▃▄▅▆█     It still grows                       no knee
//           │   ▅██▁▁▁     It gave memory back between windows  no knee: not comparable
//           └────────► window
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wss/measure/places.h"

namespace tidegauge::wss {

struct Verdict {
  std::optional<size_t> knee{};  // the row from which on a longer window adds little
  std::string text{};            // empty: fewer than two rows, which say nothing
};

// `longer`: what measures a longer window, as in "-P with more steps".
Verdict verdictOf(const std::vector<Touched>& rows, std::string_view longer);

}  // namespace tidegauge::wss
