// Options for a report as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "report/words/replays.h"

namespace tidegauge::report {

struct TextOptions {
  bool colour = false;  // ANSI
  size_t columns = 100;
  size_t holders = 12;                       // rows per table
  std::string name{};                        // of the file; empty: the last part of its path
  bool evidence = true;                      // prints the view of each number, and its SQL
  std::optional<uint64_t> capacity_bytes{};  // of the device, as given by the user
  Replays replays = Replays::kShort;
};

}  // namespace tidegauge::report
