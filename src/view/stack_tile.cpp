#include "view/stack_tile.h"

#include <algorithm>
#include <cmath>

#include "view/slots.h"
#include "view/stack_parts.h"

namespace tidegauge::view {
namespace {

using analysis::AnalysedTrace;

constexpr double kFirstThresholdRows = 1;
constexpr double kRaise = 1.5;
// Small marked blocks keep their own quads only up to this threshold and number; after that,
// merged quads tell that marked blocks are among them.
constexpr double kMostApartRows = 16;
constexpr size_t kMostApart = 2000;

// The nearest integer: adding 1.5 × 2^52 leaves no room for a fraction. (std::round is a call.)
double nearest(double value) {
  constexpr double kNoFraction = 6755399441055744.0;
  return (value + kNoFraction) - kNoFraction;
}

// One pass from the bottom to the top with a fixed threshold.
class Sweep {
 public:
  Sweep(const AnalysedTrace& analysed, const TileRequest& request, const Samples& samples,
        double threshold_bytes, bool marks_apart)
      : analysed_(analysed),
        a_(analysed.trace.allocations),
        mark_(request.mark),
        samples_(samples),
        row_bytes_(request.row_bytes),
        low_row_(request.y0_bytes / request.row_bytes),
        high_row_(request.y1_bytes / request.row_bytes),
        origin_row_(std::floor(low_row_)),
        threshold_bytes_(threshold_bytes),
        marks_apart_(marks_apart),
        most_quads_(request.most_quads),
        levels_(samples.size()) {}

  // False if there were too many quads.
  bool run(const std::vector<StackPart>& parts) {
    for (const StackPart& part : parts) {
      if (part.older != merging_older_) {  // merged quads hold one kind only
        flush(0, samples_.size());
        merging_older_ = part.older;
      }
      bool marked = part.blocks == 1 && mark_ != nullptr && mark_->has(part.row);
      if (part.blocks == 1 && (part.bytes >= threshold_bytes_ || (marked && marks_apart_))) {
        draw(part, marked, part.begin, part.waiting, 0);
        draw(part, marked, part.waiting, part.end, kQuadWaiting);
      } else {
        merge(part, marked);
      }
      if (quads_.size() > most_quads_) return false;
    }
    flush(0, samples_.size());
    return quads_.size() <= most_quads_;
  }

  std::vector<Quad> takeQuads() { return std::move(quads_); }
  double originBytes() const { return origin_row_ * row_bytes_; }

 private:
  // What stands at one sample so far.
  struct Level {
    double height_bytes = 0;       // exact
    double drawn_row = 0;          // quads reach up to here
    double largest_bytes = 0;      // of the parts merged above drawn_row
    uint32_t merged = 0;           // small blocks above drawn_row
    uint32_t merged_marked = 0;    // of these, in the mark
    uint32_t largest_row = kNoId;  // lends them its colours
    uint8_t slot = 0;              // its slot by stack
  };

  // Neighbouring samples at which something has the same edges.
  struct Run {
    size_t begin = 0;
    size_t end = 0;
    double lower_row = 0;
    double upper_row = 0;
    uint32_t merged = 0;
    uint32_t largest_row = kNoId;
    bool marked = false;
    uint8_t slot = 0;

    bool continues(size_t sample, double lower, double upper) const {
      return end == sample && end > begin && lower == lower_row && upper == upper_row;
    }
  };

  // Small blocks that follow each other become one quad; where they already make up a visible
  // height and the colour changes, a new one begins.
  void merge(const StackPart& part, bool marked) {
    Run run;
    for (size_t k = part.begin; k < part.end; ++k) {
      Level& level = levels_[k];
      if (level.slot != part.slot && level.merged > 0 &&
          level.height_bytes - level.drawn_row * row_bytes_ >= threshold_bytes_) {
        flushLevel(level, k, run);
      }
      if (level.merged == 0 || level.largest_bytes < part.bytes) {
        level.largest_bytes = part.bytes;
        level.largest_row = part.row;
        level.slot = part.slot;
      }
      level.height_bytes += part.bytes;
      level.merged += part.blocks;
      level.merged_marked += marked;
    }
    emitMerged(run);
  }

  void draw(const StackPart& part, bool marked, size_t begin, size_t end, uint8_t flags) {
    if (begin >= end) return;
    flush(begin, end);
    Run run;
    for (size_t k = begin; k < end; ++k) {
      Level& level = levels_[k];
      double lower = level.drawn_row;
      level.height_bytes += part.bytes;
      double upper = nearest(level.height_bytes / row_bytes_);
      level.drawn_row = upper;
      if (run.continues(k, lower, upper)) {
        run.end = k + 1;
      } else {
        emitBlock(run, part.row, marked, flags);
        run = {.begin = k, .end = k + 1, .lower_row = lower, .upper_row = upper};
      }
    }
    emitBlock(run, part.row, marked, flags);
  }

  // Draws the small blocks that are still undrawn at the samples [begin, end).
  void flush(size_t begin, size_t end) {
    Run run;
    for (size_t k = begin; k < end; ++k) {
      if (levels_[k].merged > 0) flushLevel(levels_[k], k, run);
    }
    emitMerged(run);
  }

  // Those at sample k: they continue the run, or end it and begin another.
  void flushLevel(Level& level, size_t k, Run& run) {
    double lower = level.drawn_row;
    double upper = nearest(level.height_bytes / row_bytes_);
    bool marked = level.merged_marked > 0;
    if (run.continues(k, lower, upper) && run.marked == marked && run.slot == level.slot) {
      run.end = k + 1;
    } else {
      emitMerged(run);
      run = {k, k + 1, lower, upper, level.merged, level.largest_row, marked, level.slot};
    }
    level.drawn_row = upper;
    level.merged = 0;
    level.merged_marked = 0;
  }

  // nullptr if nothing of it is in the tile.
  Quad* add(const Run& run, double least_rows) {
    double upper_row = std::max(run.upper_row, run.lower_row + least_rows);
    // One row of slack: an edge may have been moved by half of one.
    if (run.begin >= run.end || upper_row <= run.lower_row || upper_row <= low_row_ - 1 ||
        run.lower_row >= high_row_ + 1) {
      return nullptr;
    }
    Quad quad;
    quad.column_begin = static_cast<uint16_t>(samples_.begin[run.begin]);
    quad.column_end = static_cast<uint16_t>(samples_.begin[run.end]);
    quad.lower_bytes = static_cast<float>((run.lower_row - origin_row_) * row_bytes_);
    quad.upper_bytes = static_cast<float>((upper_row - origin_row_) * row_bytes_);
    return &quads_.emplace_back(quad);
  }

  void emitBlock(const Run& run, uint32_t row, bool marked, uint8_t flags) {
    // A marked block lower than half a pixel row is drawn at its true height.
    double least_rows = marked ? static_cast<double>(a_.block_bytes[row]) / row_bytes_ : 0;
    Quad* quad = add(run, least_rows);
    if (quad == nullptr) return;
    paint(*quad, row);
    quad->allocation = row;
    quad->stack = a_.stack[row].value;
    quad->flags = static_cast<uint8_t>(flags | (marked ? kQuadMarked : 0));
    quad->first_step = a_.first_step[row];
  }

  void emitMerged(const Run& run) {
    Quad* quad = add(run, 0);
    if (quad == nullptr) return;
    paint(*quad, run.largest_row);
    quad->flags = static_cast<uint8_t>(kQuadMerged | (run.marked ? kQuadMarked : 0));
    quad->first_step = run.merged;
  }

  // What the quad can be coloured by.
  void paint(Quad& quad, uint32_t row) const {
    auto bytes = static_cast<double>(a_.block_bytes[row]);
    quad.provenance = static_cast<uint8_t>(a_.provenance[row]);
    quad.stack_slot = stackSlot(analysed_, row);
    quad.category_slot = categorySlot(analysed_.trace, row);
    quad.stream = static_cast<uint8_t>(std::min<uint16_t>(a_.stream[row].value, 255));
    quad.pool = static_cast<uint8_t>(std::min<uint16_t>(a_.pool[row].value, 255));
    quad.log2_bytes = static_cast<uint16_t>(std::log2(std::max(bytes, 1.0)) * 256);
  }

  const AnalysedTrace& analysed_;
  const model::Allocations& a_;
  const MarkSet* mark_;
  const Samples& samples_;
  double row_bytes_;
  double low_row_;
  double high_row_;
  double origin_row_;
  double threshold_bytes_;
  bool marks_apart_;
  bool merging_older_ = true;  // the oldest lie at the bottom
  size_t most_quads_;
  std::vector<Level> levels_;
  std::vector<Quad> quads_;
};

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
  for (double rows = kFirstThresholdRows;; rows *= kRaise) {
    tile.threshold_bytes = rows * request.row_bytes;
    tile.threshold_raised = rows > kFirstThresholdRows;
    Sweep sweep(analysed, request, samples, tile.threshold_bytes,
                few_marked && rows < kMostApartRows);
    tile.origin_bytes = sweep.originBytes();
    bool fits = sweep.run(parts);
    if (!fits && std::isfinite(tile.threshold_bytes) && tile.threshold_bytes < 0x1p64) continue;
    tile.quads = sweep.takeQuads();
    return tile;
  }
}

}  // namespace tidegauge::view
