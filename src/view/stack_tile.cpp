#include "view/stack_tile.h"

#include <algorithm>
#include <cmath>

#include "view/stack_parts.h"
#include "view/sweep.h"

namespace tidegauge::view {
namespace {

using analysis::AnalysedTrace;

constexpr double kFirstThresholdRows = 1;
// A threshold is raised by what the last one lacked, less a little: rather once more than too far.
constexpr double kLeastRaise = 1.5;
constexpr double kCaution = 0.9;
// Small marked blocks keep their own quads only up to this threshold and number; after that,
// merged quads tell that marked blocks are among them.
constexpr double kMostApartRows = 16;
constexpr size_t kMostApart = 2000;

size_t countMarked(const MarkSet* mark, const std::vector<StackPart>& parts) {
  if (mark == nullptr || mark->rows().empty()) return 0;
  auto marked = [&](const StackPart& part) { return part.blocks == 1 && mark->has(part.row); };
  return static_cast<size_t>(std::count_if(parts.begin(), parts.end(), marked));
}

}  // namespace

StackTile stackTile(const AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                    const TileRequest& request) {
  std::vector<ColumnState> columns = columnStates(device, request.x);
  Samples samples = samplesOf(columns);
  std::vector<StackPart> parts = stackParts(analysed, device,
                                            {.samples = samples.step,
                                             .small_bytes = kFirstThresholdRows * request.row_bytes,
                                             .mark = request.mark});
  bool few_marked = countMarked(request.mark, parts) <= kMostApart;
  StackTile tile;
  for (const ColumnState& column : columns) {
    tile.highest_active_bytes = std::max(tile.highest_active_bytes, column.span.active_max);
  }
  // Without anything above the threshold, a sample has at most two merged quads; so it ends.
  for (double rows = kFirstThresholdRows;;) {
    tile.threshold_bytes = rows * request.row_bytes;
    tile.threshold_raised = rows > kFirstThresholdRows;
    Sweep sweep(analysed, request, samples, tile.threshold_bytes,
                few_marked && rows < kMostApartRows);
    tile.origin_bytes = sweep.originBytes();
    bool fits = sweep.run(parts);
    if (fits || !std::isfinite(tile.threshold_bytes) || tile.threshold_bytes >= 0x1p64) {
      tile.quads = sweep.takeQuads();
      return tile;
    }
    // The number of quads goes down about as the threshold goes up.
    rows *= std::max(kLeastRaise, kCaution / sweep.progress());
  }
}

}  // namespace tidegauge::view
