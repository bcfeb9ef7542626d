// The text of wss.pl, byte for byte, for scripts that read it.
//
//   Watching PID 423 page references during 0.1 seconds...
//   Est(s)     RSS(MB)    PSS(MB)    Ref(MB)
//   0.107       403.66     400.59      28.02
//
// Format: https://www.brendangregg.com/wss.html (2018). The figures are Tidegauge's.
#pragma once

#include <string>

#include "wss/measure/measure.h"

namespace tidegauge::wss {

// As the user wrote them: the header repeats the words.
struct CompatWords {
  std::string pid, duration, pause, steps;
};

std::string compatHeader(const Plan& plan, const CompatWords& words, bool more_times);
std::string compatRow(const Row& row, bool more_times);

}  // namespace tidegauge::wss
