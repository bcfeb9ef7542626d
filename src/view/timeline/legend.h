// The composition of the live bytes after a step: the legend of the timeline.
//
//   by stack   loss.py:30 log_softmax   12 GiB   3 blocks   slot 5
//              …
//              other                     1 GiB  812 blocks
//
// At most kMaxLegendRows groups, largest first, then the rest as one. O(live).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "view/timeline/columns.h"

namespace tidegauge::view {

enum class LegendBy : uint8_t { kStack, kCategory, kStream, kPool, kSize, kAge, kProvenance };
std::optional<LegendBy> legendByName(std::string_view name);

inline constexpr size_t kMaxLegendRows = 12;

struct LegendRow {
  // Stack, stream or pool id, category slot, floor(log2(bytes)), class of age, provenance: what the
  // page finds in a quad. "unknown" or "other" if there is none.
  std::string key;
  uint8_t slot = 0;
  std::string label;
  std::string caller{};  // for stacks
  uint64_t bytes = 0;
  uint64_t blocks = 0;
};

struct Legend {
  uint64_t total_bytes = 0;
  std::vector<LegendRow> rows;
};

Legend legendAt(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                Step step, LegendBy by);

}  // namespace tidegauge::view
