// Memory over the steps of a device as text: 8 rows of block characters and an axis.
//
//   39.2 GiB ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄×     ┄ capacity   × out of memory
//            ░░░░░░░▂▆██████
//            ▂▄▅▆▇██████████     █ active   ░ reserved, not active
//          0 ███████████████
//
// A column shows the highest active and the highest reserved bytes of its steps, so no peak is
// lost. Cost: O(columns · (steps / columns / 128 + 256)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::report {

struct LevelChartOptions {
  size_t columns = 100;                      // of the whole chart, with its labels
  bool colour = false;                       // ANSI
  std::optional<uint64_t> capacity_bytes{};  // that the process could have
  bool capacity_at_most = false;             // it is an upper bound: its label begins with ≤
  // Lower bounds: the legend says so, and the label of the highest begins with ≥.
  bool active_at_least = false, reserved_at_least = false;
  std::vector<analysis::Step> oom_steps{};
};

inline constexpr size_t kChartRows = 8;

// kChartRows lines and the axis; empty without steps, or if nothing was ever reserved.
std::vector<std::string> levelChart(const analysis::DeviceAnalysis& device,
                                    const LevelChartOptions& options);

}  // namespace tidegauge::report
