#include "readers/recording/continued_lives.h"

#include <algorithm>

#include "model/block_size.h"
#include "model/lives/stated_sums.h"

namespace tidegauge::readers::recording {

using model::Action;
using model::SegmentId;
using model::SegmentKind;
using model::Step;

namespace {

constexpr uint64_t kSmallPoolBytes = uint64_t{2} << 20;

SegmentKind kindOf(bool small) { return small ? SegmentKind::kSmall : SegmentKind::kLarge; }

}  // namespace

// ---- what can be undone -------------------------------------------------------------------------

ContinuedLives::Place& ContinuedLives::placeAt(uint64_t address) {
  Place& place = places_[address];
  if (!is_settling_) changes_.places.emplace_back(address, place);
  return place;
}

ContinuedLives::Segment& ContinuedLives::segmentAt(uint64_t begin) {
  Segment& segment = segments_.find(begin)->second;
  if (!is_settling_) changes_.segments.emplace_back(begin, segment);
  return segment;
}

void ContinuedLives::insertStart(uint64_t address) {
  starts_.insert(address);
  if (!is_settling_) changes_.starts.emplace_back(address, true);
}

void ContinuedLives::eraseStart(uint64_t address) {
  auto at = starts_.lowerBound(address);
  if (at == starts_.end() || starts_.at(at) != address) return;
  starts_.erase(at);
  if (!is_settling_) changes_.starts.emplace_back(address, false);
}

void ContinuedLives::begin(model::Trace& trace) {
  trace_ = &trace;
  is_settling_ = true;
  shorten(trace);
  live_ = settled_.live;
  for (size_t i = changes_.places.size(); i-- > 0;)
    places_[changes_.places[i].first] = changes_.places[i].second;
  for (size_t i = changes_.starts.size(); i-- > 0;) {
    auto [address, was_inserted] = changes_.starts[i];
    if (was_inserted) {
      eraseStart(address);
    } else {
      insertStart(address);
    }
  }
  for (size_t i = changes_.segments.size(); i-- > 0;) {
    const auto& [begin, before] = changes_.segments[i];
    bool is_back = before && !segments_.contains(begin);
    if (before) {
      segments_[begin] = *before;
    } else {
      segments_.erase(begin);
    }
    if (is_back && before->row < settled_.segments) setPools(before->last_block, model::PoolId(0));
  }
  changes_ = {};
  ended_late_.clear();
  continuation_ = {};
  continuation_.steps = settled_.steps;
  previous_.resize(settled_.allocations);
}

void ContinuedLives::shorten(model::Trace& trace) const {
  model::Allocations& a = trace.allocations;
  size_t count = settled_.allocations;
  a.address.resize(count);
  a.requested_bytes.resize(count);
  a.block_bytes.resize(count);
  a.segment.resize(count);
  a.stack.resize(count);
  a.first_step.resize(count);
  a.last_step.resize(count);
  a.free_requested_step.resize(count);
  a.version.resize(count);
  a.stream.resize(count);
  a.pool.resize(count);
  a.provenance.resize(count);
  a.flags.resize(count);
  model::Segments& s = trace.segments;
  count = settled_.segments;
  s.address.resize(count);
  s.total_bytes.resize(count);
  s.kind.resize(count);
  s.stack.resize(count);
  s.first_step.resize(count);
  s.last_step.resize(count);
  s.stream.resize(count);
  s.pool.resize(count);
  s.provenance.resize(count);
  s.small_pool.resize(count);
  model::Pieces& p = trace.pieces;
  p.segment.resize(count);
  p.address.resize(count);
  p.size_bytes.resize(count);
  p.first_step.resize(count);
  p.last_step.resize(count);
}

// ---- events -------------------------------------------------------------------------------------

bool ContinuedLives::run(model::Trace& trace, model::Device& device,
                         const std::vector<bool>& is_driver_block, Step settled) {
  trace_ = &trace;
  is_driver_block_ = &is_driver_block;
  if (!runEvents(settled_.steps, settled)) return false;
  settled_ = {settled, trace.allocations.size(), trace.segments.size(), live_};
  is_settling_ = false;
  if (!runEvents(settled, device.steps()) || !writeFinalState(device)) return false;
  compareOpenSizes();
  keepOpenSizes();
  return true;
}

void ContinuedLives::compareOpenSizes() {
  for (const model::Continuation::Resized& before : open_)
    if (trace_->allocations.block_bytes[before.row] != before.bytes_before)
      continuation_.resized.push_back(before);
}

void ContinuedLives::keepOpenSizes() {
  open_.clear();
  const model::Allocations& a = trace_->allocations;
  auto keep = [&](uint32_t row) {
    if (row < settled_.allocations) open_.push_back({row, a.block_bytes[row]});
  };
  for (uint32_t row : ended_late_) keep(row);
  for (model::AllocationId id : trace_->final_blocks.allocation)
    if (id.valid() && id.value < a.size()) keep(id.value);
  std::sort(open_.begin(), open_.end(), [](const auto& x, const auto& y) { return x.row < y.row; });
}

bool ContinuedLives::runEvents(Step begin, Step end) {
  for (Step step = begin; step < end; ++step) {
    if (!takeEvent(step)) return false;
  }
  return true;
}

bool ContinuedLives::takeEvent(Step step) {
  trace_->events.subject[step] = kNoRow;
  switch (trace_->events.action[step]) {
    case Action::kAlloc:
      return onAlloc(step);
    case Action::kFreeRequested:
      return onFreeRequested(step);
    case Action::kFreeCompleted:
      return onFreeCompleted(step);
    case Action::kSegmentAlloc:
      return onSegment(step);
    case Action::kSegmentFree:
      return onSegmentFree(step);
    case Action::kOom:
      return true;
    default:
      return false;
  }
}

bool ContinuedLives::onSegment(Step step) {
  model::Events& events = trace_->events;
  uint64_t begin = events.address[step], end = begin + events.size_bytes[step];
  auto next = segments_.lower_bound(begin);
  bool overlaps = (next != segments_.end() && next->first < end) ||
                  (next != segments_.begin() && std::prev(next)->second.end > begin);
  if (end <= begin || overlaps) return false;
  auto row = static_cast<uint32_t>(trace_->segments.size());
  segments_.emplace_hint(next, begin, Segment{end, row});
  if (!is_settling_) changes_.segments.emplace_back(begin, std::nullopt);
  events.subject[step] = row;
  model::Segments& s = trace_->segments;
  s.address.push_back(begin);
  s.total_bytes.push_back(end - begin);
  s.kind.push_back(kindOf(end - begin <= kSmallPoolBytes));
  s.stack.push_back(events.stack[step]);
  s.first_step.push_back(step);
  s.last_step.push_back(step);
  s.stream.push_back(events.stream[step]);
  s.pool.push_back(model::PoolId());
  s.provenance.push_back(model::Provenance::kTraced);
  s.small_pool.push_back(end - begin <= kSmallPoolBytes);
  model::Pieces& p = trace_->pieces;
  p.segment.push_back(SegmentId(row));
  p.address.push_back(begin);
  p.size_bytes.push_back(end - begin);
  p.first_step.push_back(step);
  p.last_step.push_back(step);
  return true;
}

// Is it an event of driver memory that is the segment, or a part of it?
bool ContinuedLives::isDriverBlock(Step step, Action action, uint32_t segment) const {
  const model::Events& events = trace_->events;
  if (!(*is_driver_block_)[step] || events.action[step] != action) return false;
  uint64_t address = trace_->segments.address[segment], begin = events.address[step];
  return address >= begin && address - begin < events.size_bytes[step];
}

bool ContinuedLives::onSegmentFree(Step step) {
  const model::Events& events = trace_->events;
  uint64_t begin = events.address[step];
  auto at = segments_.find(begin);
  if (at == segments_.end() || at->second.end != begin + events.size_bytes[step]) return false;
  auto inside = starts_.lowerBound(begin);
  if (inside != starts_.end() && starts_.at(inside) < at->second.end) return false;
  Segment segment = segmentAt(begin);
  segments_.erase(at);
  uint32_t row = segment.row;
  trace_->events.subject[step] = row;
  model::Segments& s = trace_->segments;
  bool small = s.total_bytes[row] <= kSmallPoolBytes;
  s.kind[row] = kindOf(small);
  s.small_pool[row] = small;
  s.last_step[row] = step;
  // Which pool it had is known of the final state alone.
  s.pool[row] = model::PoolId();
  setPools(segment.last_block, model::PoolId());
  bool by_block = step > 0 && isDriverBlock(step - 1, Action::kFreeCompleted, row);
  trace_->pieces.last_step[row] = by_block ? step - 1 : step;
  return true;
}

void ContinuedLives::setPools(uint32_t last_block, model::PoolId pool) {
  for (uint32_t row = last_block; row != kNoRow; row = previous_[row])
    if (row < trace_->allocations.size()) trace_->allocations.pool[row] = pool;
}

bool ContinuedLives::onAlloc(Step step) {
  const model::Events& events = trace_->events;
  uint64_t address = events.address[step];
  auto at = segments_.upper_bound(address);
  if (at == segments_.begin()) return false;
  --at;
  if (at->second.end <= address) return false;
  Place& place = placeAt(address);
  if (place.row != kNoRow || trace_->allocations.size() >= kNoRow / 2) return false;
  Segment& segment = segmentAt(at->first);
  addBlock(step, at->first, segment, place);
  if (step > 0 && events.action[step - 1] == Action::kSegmentAlloc &&
      events.subject[step - 1] == segment.row && isDriverBlock(step, Action::kAlloc, segment.row)) {
    trace_->pieces.first_step[segment.row] = step;
  }
  bool is_large = segment.end - at->first > kSmallPoolBytes;
  inferSize(place.row, segment, place);
  if (is_large) insertStart(address);
  return true;
}

void ContinuedLives::addBlock(Step step, uint64_t segment_begin, Segment& segment, Place& place) {
  model::Events& events = trace_->events;
  model::Allocations& a = trace_->allocations;
  auto row = static_cast<uint32_t>(a.size());
  uint64_t requested = events.size_bytes[step];
  a.address.push_back(events.address[step]);
  a.requested_bytes.push_back(requested);
  a.block_bytes.push_back(0);
  a.segment.push_back(SegmentId(segment.row));
  a.stack.push_back(events.stack[step]);
  a.first_step.push_back(step);
  a.last_step.push_back(model::kNoStep);
  a.free_requested_step.push_back(model::kNoStep);
  a.version.push_back(place.version);
  a.stream.push_back(events.stream[step]);
  a.pool.push_back(model::PoolId(0));
  a.provenance.push_back(model::Provenance::kTraced);
  a.flags.push_back(0);
  previous_.push_back(segment.last_block);
  segment.last_block = row;
  bool is_whole = events.address[step] == segment_begin && requested == segment.end - segment_begin;
  segment.has_parts |= !is_whole;
  place.row = row;
  place.requested_at = model::kNoStep;
  events.subject[step] = row;
  ++live_;
}

bool ContinuedLives::isWhole(uint32_t row) const {
  const model::Allocations& a = trace_->allocations;
  size_t segment = a.segment[row].index();
  return trace_->segments.address[segment] == a.address[row] &&
         trace_->segments.total_bytes[segment] == a.requested_bytes[row];
}

// As model::inferBlocks() does it. Call it before the block is among the starts.
void ContinuedLives::inferSize(uint32_t row, const Segment& segment, Place& place) {
  const model::Allocations& a = trace_->allocations;
  uint64_t requested = a.requested_bytes[row], address = a.address[row];
  place.flags = model::kAllocSeen;
  place.inferred_bytes = requested;
  if (isWhole(row)) return;
  uint64_t rounded = model::roundedBytes(requested, trace_->settings);
  place.flags |= model::kBlockInferred;
  place.inferred_bytes = rounded;
  if (trace_->segments.total_bytes[segment.row] <= kSmallPoolBytes) return;
  auto next = starts_.lowerBound(address);
  uint64_t free_end = next == starts_.end() ? segment.end : std::min(segment.end, starts_.at(next));
  if (free_end - address < rounded) {
    place.flags |= model::kBlockUncertain;
    return;
  }
  uint64_t remainder = free_end - address - rounded;
  if (remainder <= model::kUnsplitRemainderBytes) place.inferred_bytes = rounded + remainder;
}

bool ContinuedLives::onFreeRequested(Step step) {
  model::Events& events = trace_->events;
  Place& place = placeAt(events.address[step]);
  if (place.row == kNoRow || place.requested_at != model::kNoStep) return false;
  if (events.size_bytes[step] != trace_->allocations.requested_bytes[place.row]) return false;
  place.requested_at = step;
  events.subject[step] = place.row;
  return true;
}

bool ContinuedLives::onFreeCompleted(Step step) {
  model::Events& events = trace_->events;
  uint64_t address = events.address[step];
  Place& place = placeAt(address);
  if (place.row == kNoRow || place.requested_at == model::kNoStep) return false;
  uint32_t row = place.row;
  model::Allocations& a = trace_->allocations;
  if (events.size_bytes[step] != a.requested_bytes[row]) return false;
  a.last_step[row] = step;
  a.free_requested_step[row] = place.requested_at;
  a.flags[row] = static_cast<uint8_t>(place.flags | model::kFreeCompletedSeen);
  a.block_bytes[row] = place.inferred_bytes;
  events.subject[step] = row;
  if (trace_->segments.total_bytes[a.segment[row].index()] > kSmallPoolBytes) eraseStart(address);
  if (!is_settling_) ended_late_.push_back(row);
  place.row = kNoRow;
  place.requested_at = model::kNoStep;
  ++place.version;
  --live_;
  return true;
}

// ---- the final state ----------------------------------------------------------------------------

bool ContinuedLives::writeFinalState(model::Device& device) {
  if (!endSegments(device) || !endBlocks(device)) return false;
  device.allocation_begin = device.segment_begin = device.piece_begin = 0;
  device.allocation_end = trace_->allocations.size();
  device.segment_end = trace_->segments.size();
  device.piece_end = trace_->pieces.size();
  return true;
}

// The final segments are those that are live, in the same order.
bool ContinuedLives::endSegments(const model::Device& device) {
  model::FinalSegments& finals = trace_->final_segments;
  model::Segments& s = trace_->segments;
  if (device.final_segment_end - device.final_segment_begin != segments_.size()) return false;
  uint64_t final_row = device.final_segment_begin;
  for (const auto& [begin, segment] : segments_) {
    bool small = finals.small_pool[final_row];
    bool is_small = segment.end - begin <= kSmallPoolBytes;
    bool fits = finals.address[final_row] == begin &&
                finals.total_bytes[final_row] == segment.end - begin &&
                finals.kind[final_row] == kindOf(small) &&
                !(segment.has_parts && small != is_small) &&
                model::segmentDifferenceBytes(*trace_, final_row) == 0;
    if (!fits) return false;
    s.kind[segment.row] = kindOf(small);
    s.small_pool[segment.row] = small;
    s.pool[segment.row] = finals.pool[final_row];
    s.last_step[segment.row] = device.steps();
    trace_->pieces.last_step[segment.row] = device.steps();
    finals.segment[final_row++] = SegmentId(segment.row);
  }
  return true;
}

bool ContinuedLives::endBlocks(const model::Device& device) {
  const model::FinalSegments& finals = trace_->final_segments;
  model::FinalBlocks& blocks = trace_->final_blocks;
  model::Allocations& a = trace_->allocations;
  uint64_t found = 0;
  for (uint64_t s = device.final_segment_begin; s < device.final_segment_end; ++s) {
    for (uint64_t b = finals.block_begin[s]; b < finals.block_end[s]; ++b) {
      if (blocks.state[b] != model::BlockState::kActiveAllocated) continue;
      auto at = places_.find(blocks.address[b]);
      if (at == places_.end() || at->second.row == kNoRow) return false;
      uint32_t row = at->second.row;
      bool fits = at->second.requested_at == model::kNoStep &&
                  a.requested_bytes[row] == blocks.requested_bytes[b];
      if (!fits) return false;
      a.last_step[row] = device.steps();
      a.free_requested_step[row] = model::kNoStep;
      a.flags[row] = model::kAllocSeen | model::kInFinalState;
      a.block_bytes[row] = isWhole(row) ? a.requested_bytes[row] : blocks.size_bytes[b];
      blocks.allocation[b] = model::AllocationId(row);
      ++found;
    }
  }
  return found == live_;
}

}  // namespace tidegauge::readers::recording
