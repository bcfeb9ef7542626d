// Finds the block at a point of the stacked timeline, its neighbours, and the position of a block.
// O(live) each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "view/timeline/columns.h"

namespace tidegauge::view {

// The row of the block that covers the height `y_bytes` after `step`.
std::optional<uint32_t> blockAt(const analysis::AnalysedTrace& analysed,
                                const analysis::DeviceAnalysis& device, Step step, double y_bytes);

enum class Direction : uint8_t { kUp, kDown };
// The row drawn next to `row` after `step`; absent at the ends, or if `row` is not live there.
std::optional<uint32_t> neighbourOf(const analysis::AnalysedTrace& analysed,
                                    const analysis::DeviceAnalysis& device, Step step, uint32_t row,
                                    Direction direction);

// The height of the lower edge of `row` in each column; NaN if it is not live at the sample.
std::vector<double> lowerEdges(const analysis::AnalysedTrace& analysed,
                               const analysis::DeviceAnalysis& device, uint32_t row,
                               const XRange& range);

}  // namespace tidegauge::view
