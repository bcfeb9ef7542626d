#include "view/timeline/sweep.h"

#include <algorithm>
#include <cmath>

#include "view/timeline/slots.h"

namespace tidegauge::view {
namespace {

// Rounds to the nearest integer: adding 1.5 × 2^52 leaves no bits for a fraction. (std::round is a
// call.)
double nearest(double value) {
  constexpr double kNoFraction = 6755399441055744.0;
  return (value + kNoFraction) - kNoFraction;
}

constexpr float kNothing = -1;  // smaller than any block

// The inner loop over samples [begin, end): adds a small part to the levels.
struct Levels {
  double* __restrict height_bytes;
  float* __restrict undrawn_bytes;
  uint32_t* __restrict merged;
  float* __restrict largest_bytes;
  uint32_t* __restrict largest_row;
  uint32_t* __restrict slot;
};
void addSmall(const Levels& levels, size_t begin, size_t end, const StackPart& part) {
  auto bytes = static_cast<float>(part.bytes);
  for (size_t k = begin; k < end; ++k) levels.height_bytes[k] += part.bytes;
  for (size_t k = begin; k < end; ++k) {
    bool larger = levels.largest_bytes[k] < bytes;
    levels.largest_bytes[k] = larger ? bytes : levels.largest_bytes[k];
    levels.largest_row[k] = larger ? part.row : levels.largest_row[k];
    levels.slot[k] = larger ? part.slot : levels.slot[k];
    levels.undrawn_bytes[k] += bytes;
    levels.merged[k] += part.blocks;
  }
}

}  // namespace

Sweep::Sweep(const analysis::AnalysedTrace& analysed, const TileRequest& request,
             const Samples& samples, double threshold_bytes, bool marks_apart)
    : analysed_(analysed),
      a_(analysed.trace.allocations),
      mark_(request.mark),
      filter_(request.filter),
      samples_(samples),
      row_bytes_(request.row_bytes),
      low_row_(request.y0_bytes / request.row_bytes),
      high_row_(request.y1_bytes / request.row_bytes),
      origin_row_(std::floor(low_row_)),
      threshold_bytes_(threshold_bytes),
      marks_apart_(marks_apart),
      most_quads_(request.most_quads),
      height_bytes_(samples.size()),
      drawn_row_(samples.size()),
      undrawn_bytes_(samples.size()),
      merged_(samples.size()),
      marked_(samples.size()),
      largest_bytes_(samples.size(), kNothing),
      largest_row_(samples.size(), kNoId),
      slot_(samples.size()) {}

bool Sweep::run(const std::vector<StackPart>& parts) {
  for (const StackPart& part : parts) {
    if (part.older != merging_older_) {  // merged quads contain one kind only
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
    if (quads_.size() > most_quads_) {
      progress_ = static_cast<double>(&part - parts.data() + 1) / static_cast<double>(parts.size());
      return false;
    }
  }
  flush(0, samples_.size());
  progress_ = 1;
  return quads_.size() <= most_quads_;
}

// Consecutive small blocks become one quad. If they already have a visible height and the colour
// changes, a new one begins.
void Sweep::merge(const StackPart& part, bool marked) {
  auto threshold = static_cast<float>(threshold_bytes_);
  unsigned changes = 0;
  for (size_t k = part.begin; k < part.end; ++k) {
    changes |= static_cast<unsigned>(undrawn_bytes_[k] >= threshold) &
               static_cast<unsigned>(slot_[k] != part.slot);
  }
  if (changes != 0) beginAfterColour(part);
  addSmall({height_bytes_.data(), undrawn_bytes_.data(), merged_.data(), largest_bytes_.data(),
            largest_row_.data(), slot_.data()},
           part.begin, part.end, part);
  if (marked) {
    for (size_t k = part.begin; k < part.end; ++k) marked_[k]++;
  }
}

// Draws the blocks below a part of another colour.
void Sweep::beginAfterColour(const StackPart& part) {
  auto threshold = static_cast<float>(threshold_bytes_);
  Run run;
  for (size_t k = part.begin; k < part.end; ++k) {
    if (undrawn_bytes_[k] >= threshold && slot_[k] != part.slot && merged_[k] > 0) {
      flushLevel(k, run);
    }
  }
  emitMerged(run);
}

void Sweep::draw(const StackPart& part, bool marked, size_t begin, size_t end, uint8_t flags) {
  if (begin >= end) return;
  flush(begin, end);
  Run run;
  for (size_t k = begin; k < end; ++k) {
    double lower = drawn_row_[k];
    height_bytes_[k] += part.bytes;
    double upper = nearest(height_bytes_[k] / row_bytes_);
    drawn_row_[k] = upper;
    undrawn_bytes_[k] = static_cast<float>(height_bytes_[k] - upper * row_bytes_);
    if (run.continues(k, lower, upper)) {
      run.end = k + 1;
    } else {
      emitBlock(run, part.row, marked, flags);
      run = {.begin = k, .end = k + 1, .lower_row = lower, .upper_row = upper};
    }
  }
  emitBlock(run, part.row, marked, flags);
}

// Draws the remaining small blocks at the samples [begin, end).
void Sweep::flush(size_t begin, size_t end) {
  Run run;
  for (size_t k = begin; k < end; ++k) {
    if (merged_[k] > 0) flushLevel(k, run);
  }
  emitMerged(run);
}

// At sample k: they continue the run, or end it and begin another.
void Sweep::flushLevel(size_t k, Run& run) {
  double lower = drawn_row_[k];
  double upper = nearest(height_bytes_[k] / row_bytes_);
  bool marked = marked_[k] > 0;
  if (run.continues(k, lower, upper) && run.marked == marked && run.slot == slot_[k]) {
    run.end = k + 1;
  } else {
    emitMerged(run);
    run = {k, k + 1, lower, upper, merged_[k], largest_row_[k], marked, slot_[k]};
  }
  drawn_row_[k] = upper;
  undrawn_bytes_[k] = static_cast<float>(height_bytes_[k] - upper * row_bytes_);
  merged_[k] = 0;
  marked_[k] = 0;
  largest_bytes_[k] = kNothing;
}

// nullptr if it is outside of the tile.
Quad* Sweep::add(const Run& run, double least_rows) {
  double upper_row = std::max(run.upper_row, run.lower_row + least_rows);
  // One row of tolerance: rounding may have moved an edge by half a row.
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

void Sweep::emitBlock(const Run& run, uint32_t row, bool marked, uint8_t flags) {
  // A marked block lower than half a pixel row is drawn at its true height.
  double least_rows = marked ? static_cast<double>(a_.block_bytes[row]) / row_bytes_ : 0;
  Quad* quad = add(run, least_rows);
  if (quad == nullptr) return;
  paint(*quad, row);
  quad->allocation = row;
  quad->stack = a_.stack[row].value;
  quad->flags |= static_cast<uint8_t>(flags | (marked ? kQuadMarked : 0));
  quad->first_step = a_.first_step[row];
}

void Sweep::emitMerged(const Run& run) {
  Quad* quad = add(run, 0);
  if (quad == nullptr) return;
  paint(*quad, run.largest_row);
  quad->flags |= static_cast<uint8_t>(kQuadMerged | (run.marked ? kQuadMarked : 0));
  quad->first_step = run.merged;
}

// The values that can colour the quad.
void Sweep::paint(Quad& quad, uint32_t row) const {
  auto bytes = static_cast<double>(a_.block_bytes[row]);
  quad.provenance = static_cast<uint8_t>(a_.provenance[row]);
  quad.stack_slot = stackSlot(analysed_, row);
  quad.flags = passes(filter_, row) ? 0 : kQuadFiltered;
  quad.category_slot = categorySlot(analysed_, row);
  quad.stream = static_cast<uint8_t>(std::min<uint16_t>(a_.stream[row].value, 255));
  quad.pool = static_cast<uint8_t>(std::min<uint16_t>(a_.pool[row].value, 255));
  quad.log2_bytes = static_cast<uint16_t>(std::log2(std::max(bytes, 1.0)) * 256);
}

}  // namespace tidegauge::view
