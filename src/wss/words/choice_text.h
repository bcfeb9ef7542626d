// What the back-end that was chosen means for the figures, in sentences; and what a measurement
// would do and cost, for --dry-run.
//
//   Note: to clear all pages stops its mmap and munmap for some 12 ms.
//   Careful: these figures …
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "wss/choice/choose.h"

namespace tidegauge::wss {

// Why that back-end, and what its figures leave out: a line each, or more.
std::string choiceText(const Choice& choice, size_t columns);

// That the process had to wait for longer than it may, or stood still; empty: it had not. `who`:
// "the process", …
std::string stallSentence(const Cost& most, double most_ms, std::string_view who);

// One paragraph of them, with one "Careful:"; empty ones are left out.
std::string cautionText(const std::vector<std::string>& sentences, size_t columns);

// What would be done, to whom, and for how much.
std::string dryText(const Process& process, const Choice& choice, size_t columns);
std::string dryText(const std::deque<Process>& processes, const Choice& choice, size_t columns);

}  // namespace tidegauge::wss
