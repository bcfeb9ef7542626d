// How a report is written as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "report/words/replays.h"

namespace tidegauge::exporting {

struct TextOptions {
  bool colour = false;  // ANSI
  size_t columns = 100;
  size_t holders = 12;                       // rows per table
  std::string name{};                        // of the file; empty: the last part of its path
  bool evidence = true;                      // where to see each number, and the SQL that gives it
  std::optional<uint64_t> capacity_bytes{};  // of the device, where somebody told it
  Replays replays = Replays::kShort;
};

}  // namespace tidegauge::exporting
