#include "view/timeline/stack_tile.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "view/timeline/stack_parts.h"
#include "view/timeline/sweep.h"

namespace tidegauge::view {
namespace {

using analysis::AnalysedTrace;

constexpr double kFirstThresholdRows = 1;
// A threshold is raised by slightly less than the last one lacked: one more attempt is better than
// too coarse a result.
constexpr double kMinRaise = 1.5;
constexpr double kCaution = 0.9;
// A first threshold that leaves this share of the quads unused was too high.
constexpr double kMinUsed = 0.6;
constexpr double kWorthATry = 0.8;  // of a threshold that is known to fit
// Merged parts may change their order (stack_parts.h): by far less than the height of a quad.
constexpr double kPartsPerThreshold = 8;
// Small marked blocks keep their own quads only up to this threshold and number; beyond that,
// merged quads have a flag for marked blocks in them.
constexpr double kMaxApartRows = 16;
constexpr size_t kMaxApart = 2000;

// The first threshold. If much happens between samples, few quads continue from one to the next, so
// each sample has as many quads as the visible stack is thresholds high.
double firstRows(const std::vector<ColumnPeak>& columns, const Samples& samples,
                 const TileRequest& request) {
  constexpr Step kBusy = 64;  // steps between two samples
  constexpr double kMargin = 1.1;
  if (samples.size() < 2 || samples.step.back() - samples.step.front() < kBusy * samples.size()) {
    return kFirstThresholdRows;
  }
  double in_sight = 0;
  for (size_t k = 0; k < samples.size(); ++k) {
    auto active = static_cast<double>(columns[samples.begin[k]].active_bytes);
    in_sight += std::max(0.0, std::min(active, request.y1_bytes) - request.y0_bytes);
  }
  double rows = in_sight / request.row_bytes / static_cast<double>(request.most_quads);
  return std::max(kFirstThresholdRows, rows * kMargin);
}

size_t countMarked(const MarkSet* mark, const std::vector<StackPart>& parts) {
  if (mark == nullptr || mark->rows().empty()) return 0;
  auto marked = [&](const StackPart& part) { return part.blocks == 1 && mark->has(part.row); };
  return static_cast<size_t>(std::count_if(parts.begin(), parts.end(), marked));
}

}  // namespace

StackTile stackTile(const AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                    const TileRequest& request) {
  std::vector<ColumnPeak> columns = columnPeaks(device, request.x);
  Samples samples = samplesOf(columns);
  StackTile tile;
  for (const ColumnPeak& column : columns) {
    tile.highest_active_bytes = std::max(tile.highest_active_bytes, column.active_bytes);
  }
  std::vector<StackPart> parts;
  double parts_rows = INFINITY;  // blocks below are merged into parts
  bool few_marked = true;
  std::optional<StackTile> fitting;  // its threshold may have been too high
  double fitting_rows = INFINITY;
  double rows = firstRows(columns, samples, request);
  // This ends: without anything above the threshold, a sample has at most two merged quads.
  for (;;) {
    if (double wanted = std::max(kFirstThresholdRows, rows / kPartsPerThreshold);
        wanted < parts_rows) {
      parts_rows = wanted;
      parts = stackParts(analysed, device,
                         {.samples = samples.step,
                          .small_bytes = parts_rows * request.row_bytes,
                          .mark = request.mark,
                          .stop = request.stop});
      few_marked = countMarked(request.mark, parts) <= kMaxApart;
    }
    if (request.stop.stop_requested()) {
      tile.stopped = true;
      return tile;
    }
    tile.threshold_bytes = rows * request.row_bytes;
    tile.threshold_raised = rows > kFirstThresholdRows;
    Sweep sweep(analysed, request, samples, tile.threshold_bytes,
                few_marked && rows < kMaxApartRows);
    tile.origin_bytes = sweep.originBytes();
    bool fits = sweep.run(parts);
    bool ends = !std::isfinite(tile.threshold_bytes) || tile.threshold_bytes >= 0x1p64;
    if (fits || ends) {
      tile.quads = sweep.takeQuads();
      double used =
          static_cast<double>(tile.quads.size()) / static_cast<double>(request.most_quads);
      if (!tile.threshold_raised || used >= kMinUsed || fitting || ends) return tile;
      fitting = tile;
      fitting_rows = rows;
      rows = std::max(kFirstThresholdRows, rows * used);
      continue;
    }
    // The number of quads decreases about as the threshold increases.
    rows *= std::max(kMinRaise, kCaution / sweep.progress());
    if (rows > fitting_rows * kWorthATry) return *std::move(fitting);
  }
}

}  // namespace tidegauge::view
