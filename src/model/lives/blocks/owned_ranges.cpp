#include "model/lives/blocks/owned_ranges.h"

#include <algorithm>
#include <bit>

namespace tidegauge::model {

OwnedRanges::OwnedRanges(const Trace& trace, const Device& device)
    : trace_(trace),
      hits_(std::bit_ceil(
          std::clamp<size_t>(16 * (device.piece_end - device.piece_begin), 512, kMostHits))) {
  const Pieces& pieces = trace.pieces;
  for (uint64_t row = device.piece_begin; row < device.piece_end; ++row) {
    // A range that the very first event removes is never owned after a step.
    if (pieces.first_step[row] < pieces.last_step[row]) {
      starts_.push_back(static_cast<uint32_t>(row));
    }
  }
  ends_ = starts_;
  std::sort(starts_.begin(), starts_.end(),
            [&](uint32_t a, uint32_t b) { return pieces.first_step[a] < pieces.first_step[b]; });
  std::sort(ends_.begin(), ends_.end(),
            [&](uint32_t a, uint32_t b) { return pieces.last_step[a] < pieces.last_step[b]; });
}

void OwnedRanges::advanceTo(Step step) {
  const Pieces& pieces = trace_.pieces;
  while (true) {
    bool more_starts =
        next_start_ < starts_.size() && pieces.first_step[starts_[next_start_]] <= step;
    bool more_ends = next_end_ < ends_.size() && pieces.last_step[ends_[next_end_]] <= step;
    if (!more_starts && !more_ends) return;
    // At one step, ends come first: a range may be reused at once.
    bool end_first = more_ends && (!more_starts || pieces.last_step[ends_[next_end_]] <=
                                                       pieces.first_step[starts_[next_start_]]);
    if (end_first) {
      erase(ends_[next_end_++]);
    } else {
      insert(starts_[next_start_++]);
    }
  }
}

void OwnedRanges::insert(uint32_t piece) {
  uint64_t begin = trace_.pieces.address[piece];
  Range range{begin, begin + trace_.pieces.size_bytes[piece], trace_.pieces.segment[piece]};
  auto after = live_.lowerBound(begin), before = live_.previous(after);
  overlap_ |= range.end < begin || (after != live_.end() && live_.at(after).begin < range.end) ||
              (before != live_.end() && live_.at(before).end > begin);
  live_.insert(range);
  last_hit_ = {};
}

void OwnedRanges::erase(uint32_t piece) {
  uint64_t begin = trace_.pieces.address[piece];
  for (auto at = live_.lowerBound(begin); at != live_.end() && live_.at(at).begin == begin;
       at = live_.next(at)) {
    if (live_.at(at).segment == trace_.pieces.segment[piece]) {
      forget(live_.at(at));
      live_.erase(at);
      last_hit_ = {};
      return;
    }
  }
}

void OwnedRanges::forget(const Range& range) {
  uint64_t steps = (range.end >> kStepBits) - (range.begin >> kStepBits);
  if (steps >= kMaxForgotten) {
    ++round_;
    return;
  }
  for (uint64_t i = 0; i <= steps; ++i) hitAt(range.begin + (i << kStepBits)) = {};
}

SegmentId OwnedRanges::find(uint64_t address) const {
  auto holds = [&](const auto& range) { return range.begin <= address && address < range.end; };
  if (!overlap_ && holds(last_hit_)) return last_hit_.segment;
  Hit& hit = hitAt(address);
  if (!overlap_ && hit.round == round_ && holds(hit)) return hit.segment;
  auto at = live_.lowerBound(address);
  if (at == live_.end() || live_.at(at).begin != address) at = live_.previous(at);
  if (at == live_.end() || !holds(live_.at(at))) return {};
  last_hit_ = live_.at(at);
  hit = {last_hit_.begin, last_hit_.end, last_hit_.segment, round_};
  return last_hit_.segment;
}

}  // namespace tidegauge::model
