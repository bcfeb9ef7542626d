// Options for a report as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/what_if/replay_proof.h"

namespace tidegauge::report {

struct TextOptions {
  bool colour = false;  // ANSI
  size_t columns = 100;
  size_t holders = 12;                       // rows per table
  std::string name{};                        // of the file; empty: the last part of its path
  bool full = false;                         // every section, and not the one page of brief.h
  size_t lines = 40;                         // of that page, at 100 columns
  std::optional<size_t> brief_holders{};     // rows there; absent: as many as fit
  bool evidence = false;                     // prints the view of each number, and its SQL
  std::optional<uint64_t> capacity_bytes{};  // of the device, as given by the user
  analysis::ReplayWish replays = analysis::Replays::kShort;
};

}  // namespace tidegauge::report
