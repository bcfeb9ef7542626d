// One pass over the parts of a stack, from bottom to top, that turns them into quads: parts of at
// least a threshold individually, smaller ones merged with their neighbours.
//
//   sample        0     1     2          the state of each sample so far ("level"):
//               ┌───────────┐              height    exact sum of the parts below
//   large part  │           │              drawn     where the quads end: on a pixel row
//               ├─────┬─────┼─────┐        undrawn   small parts since then, their number, the
//   small ones  │▒▒▒▒▒│▒▒▒▒▒│▒▒▒▒▒│                  largest of them and its colour
//               └─────┴─────┴─────┘
//
// Cost: O(sum over the parts of their samples). Nearly all of it is adding small parts to levels,
// so a level is spread over arrays: the compiler vectorises the loop.
#pragma once

#include <vector>

#include "view/timeline/columns.h"
#include "view/timeline/stack_parts.h"
#include "view/timeline/stack_tile.h"

namespace tidegauge::view {

class Sweep {
 public:
  // Marked parts keep their own quads below the threshold too, if marks_apart.
  Sweep(const analysis::AnalysedTrace& analysed, const TileRequest& request, const Samples& samples,
        double threshold_bytes, bool marks_apart);

  // False if there were too many quads.
  bool run(const std::vector<StackPart>& parts);

  // The share of the parts that became quads before there were too many.
  double progress() const { return progress_; }
  std::vector<Quad> takeQuads() { return std::move(quads_); }
  double originBytes() const { return origin_row_ * row_bytes_; }

 private:
  // Neighbouring samples at which something has the same edges.
  struct Run {
    size_t begin = 0;
    size_t end = 0;
    double lower_row = 0;
    double upper_row = 0;
    uint32_t merged = 0;
    uint32_t largest_row = kNoId;
    bool marked = false;
    uint32_t slot = 0;

    bool continues(size_t sample, double lower, double upper) const {
      return end == sample && end > begin && lower == lower_row && upper == upper_row;
    }
  };

  void merge(const StackPart& part, bool marked);
  void beginAfterColour(const StackPart& part);
  void draw(const StackPart& part, bool marked, size_t begin, size_t end, uint8_t flags);
  void flush(size_t begin, size_t end);
  void flushLevel(size_t k, Run& run);
  Quad* add(const Run& run, double least_rows);
  void emitBlock(const Run& run, uint32_t row, bool marked, uint8_t flags);
  void emitMerged(const Run& run);
  void paint(Quad& quad, uint32_t row) const;

  const analysis::AnalysedTrace& analysed_;
  const model::Allocations& a_;
  const MarkSet* mark_;
  const FilterSet* filter_;
  const Samples& samples_;
  double row_bytes_;
  double low_row_;
  double high_row_;
  double origin_row_;
  double threshold_bytes_;
  bool marks_apart_;
  bool merging_older_ = true;  // the oldest are at the bottom
  size_t most_quads_;
  double progress_ = 0;

  // By sample.
  std::vector<double> height_bytes_;   // exact
  std::vector<double> drawn_row_;      // quads reach up to here
  std::vector<float> undrawn_bytes_;   // above drawn_row_; only decides when to draw
  std::vector<uint32_t> merged_;       // small blocks that are undrawn
  std::vector<uint32_t> marked_;       // of these, in the mark
  std::vector<float> largest_bytes_;   // of these
  std::vector<uint32_t> largest_row_;  // provides the colours
  std::vector<uint32_t> slot_;         // its slot by stack

  std::vector<Quad> quads_;
};

}  // namespace tidegauge::view
