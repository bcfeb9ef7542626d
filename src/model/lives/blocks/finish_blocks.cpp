// BlockLives::finish(): what needs the whole file.
#include <algorithm>

#include "base/threads/parallel.h"
#include "model/block_size.h"
#include "model/lives/blocks/block_lives.h"
#include "model/lives/blocks/gaps.h"
#include "model/lives/blocks/longest_lives.h"
#include "model/lives/blocks/owned_ranges.h"

namespace tidegauge::model {
namespace {

constexpr size_t kMaxParts = 8;

constexpr ActionSet kBlockActions{Action::kAlloc, Action::kFreeRequested, Action::kFreeCompleted};

template <class Column>
void append(Column& all, Column&& more) {
  if (all.empty()) {
    all = std::move(more);
  } else {
    all.insert(all.end(), more.begin(), more.end());
    more = {};
  }
}

}  // namespace

void BlockLives::finish(Trace& trace, Device& device, bool (*isExplained)(ActionSet, IssueKind)) {
  trace_ = &trace;
  device_ = &device;
  is_explained_ = isExplained;
  for (const Noted& it : noted_) {
    bool has_bytes = it.requested_bytes != Noted::kNone;
    note(it.kind, it.step, has_bytes ? roundedBytes(it.requested_bytes, trace.settings) : 0);
  }
  placeInSegments();
  joinFinalBlocks();
  moveRows(trace);
  device.allocation_begin = base_;
  if (!device.missing.has(Action::kAlloc)) cutGhosts(trace, device, older_);
  endUnfreed();
  if (device.missing.touches(kBlockActions)) drawLongestLives(trace, device, base_, older_);
  reportOutside();
  writeInDrawingOrder(trace, device, older_, final_blocks_);
}

// A walk over the rows in the order of their births, with the ranges owned at each.
void BlockLives::placeInSegments() {
  const Segments& segments = trace_->segments;
  auto ownPool = [&](PoolId pool, SegmentId segment) {
    return pool.valid() || !segment.valid() ? pool : segments.pool[segment.index()];
  };
  base::PagesAhead().upTo(used_, rows_.block_bytes, rows_.segment);
  rows_.block_bytes.resize(used_);
  rows_.segment.resize(used_);
  // Each part of the rows begins with the ranges of its first step.
  size_t parts = base::partsFor(used_, kMaxParts);
  base::eachAtOnce(parts, parts, [&](size_t part) {
    OwnedRanges owned(*trace_, *device_);
    for (size_t row = used_ * part / parts; row < used_ * (part + 1) / parts; ++row) {
      owned.advanceTo(rows_.first_step[row]);
      SegmentId segment = owned.find(rows_.address[row]);
      rows_.segment[row] = segment;
      rows_.pool[row] = ownPool(rows_.pool[row], segment);
      rows_.block_bytes[row] = roundedBytes(rows_.requested_bytes[row], trace_->settings);
    }
  });
  if (older_.empty()) return;
  OwnedRanges again(*trace_, *device_);
  for (size_t i = 0; i < older_.size(); ++i) {
    OlderBlock& older = older_[i];
    again.advanceTo(older_seen_[i]);
    older.segment = again.find(older.address);
    older.pool = ownPool(older.pool, older.segment);
    older.block_bytes = roundedBytes(older.requested_bytes, trace_->settings);
  }
}

void BlockLives::moveRows(Trace& trace) {
  Allocations& a = trace.allocations;
  base_ = a.size();
  append(a.address, std::move(rows_.address));
  append(a.requested_bytes, std::move(rows_.requested_bytes));
  append(a.block_bytes, std::move(rows_.block_bytes));
  append(a.segment, std::move(rows_.segment));
  append(a.stack, std::move(rows_.stack));
  append(a.first_step, std::move(rows_.first_step));
  append(a.last_step, std::move(rows_.last_step));
  append(a.free_requested_step, std::move(rows_.free_requested_step));
  append(a.version, std::move(rows_.version));
  append(a.stream, std::move(rows_.stream));
  append(a.pool, std::move(rows_.pool));
  append(a.provenance, std::move(rows_.provenance));
  append(a.flags, std::move(rows_.flags));
  if (trace.events.category.empty()) return;
  rows_.category.resize(used_);
  append(a.category, std::move(rows_.category));
}

// The final state's active blocks: ends of traced lives, or ghosts.
void BlockLives::joinFinalBlocks() {
  const FinalSegments& segments = trace_->final_segments;
  for (uint64_t s = device_->final_segment_begin; s < device_->final_segment_end; ++s) {
    for (uint64_t b = segments.block_begin[s]; b < segments.block_end[s]; ++b) {
      BlockState state = trace_->final_blocks.state[b];
      if (state != BlockState::kActiveAllocated && state != BlockState::kActivePendingFree)
        continue;
      joinFinalBlock(s, b, state == BlockState::kActivePendingFree);
    }
  }
}

void BlockLives::joinFinalBlock(uint64_t segment, uint64_t block, bool pending) {
  FinalBlocks& blocks = trace_->final_blocks;
  uint8_t seen = static_cast<uint8_t>(kInFinalState | (pending ? kPendingAtEnd : 0));
  places_.makeRoom(1);
  Place& place = places_.at(blocks.address[block]);
  // The recorded block was freed, the final one was not: they are two lives.
  if (!pending && place.isLive() && requestOf(place) != kNoStep && !isInFinalState(place))
    endAtRequest(place);
  if (!place.isLive()) {
    addGhost(place, segment, block, pending);
  } else if (isInFinalState(place)) {  // two final blocks at one address
    note(IssueKind::kFinalBlockOverlaps, kNoStep, blocks.size_bytes[block]);
    return;
  } else if (place.block & kOlderBit) {
    OlderBlock& older = older_[place.block & ~kOlderBit];
    older.flags = static_cast<uint8_t>((older.flags & ~kBlockInferred) | seen);
    older.block_bytes = blocks.size_bytes[block];
    older.last_step = device_->steps();
  } else {
    size_t row = place.block;
    if (rows_.requested_bytes[row] != blocks.requested_bytes[block])
      note(IssueKind::kSizeMismatch, kNoStep, 0);
    rows_.flags[row] = static_cast<uint8_t>((rows_.flags[row] & ~kBlockInferred) | seen);
    rows_.block_bytes[row] = blocks.size_bytes[block];
    rows_.last_step[row] = device_->steps();
  }
  final_blocks_.emplace_back(block, place.block);
}

void BlockLives::addGhost(Place& place, uint64_t segment, uint64_t block, bool pending) {
  const FinalBlocks& blocks = trace_->final_blocks;
  const FinalSegments& segments = trace_->final_segments;
  OlderBlock ghost;
  ghost.address = blocks.address[block];
  ghost.requested_bytes = blocks.requested_bytes[block];
  ghost.segment = segments.segment[segment];
  ghost.stack = blocks.stack[block];
  ghost.last_step = device_->steps();
  if (pending) ghost.free_requested_step = 0;  // before the recording
  ghost.version = place.ended();
  ghost.stream = segments.stream[segment];
  ghost.pool = segments.pool[segment];
  ghost.provenance = Provenance::kGhost;
  ghost.block_bytes = blocks.size_bytes[block];
  ghost.flags = static_cast<uint8_t>(kInFinalState | (pending ? kPendingAtEnd : 0));
  if (Step last_end = lastEnd(place); last_end != kNoStep) {
    Step gap = firstGap(*device_, last_end, device_->steps());
    ghost.first_step = gap == kNoStep ? last_end : gap;
    if (pending) ghost.free_requested_step = ghost.first_step;
    ghost.provenance = Provenance::kLost;
    if (gap == kNoStep) note(IssueKind::kFinalBlockOverlaps, last_end, ghost.block_bytes);
  }
  place.block = kOlderBit | static_cast<uint32_t>(older_.size());
  ++place.turns;
  older_.push_back(ghost);
}

bool BlockLives::isInFinalState(const Place& place) const {
  uint8_t flags =
      place.block & kOlderBit ? older_[place.block & ~kOlderBit].flags : rows_.flags[place.block];
  return (flags & kInFinalState) != 0;
}

// Lives that neither a completed free nor the final state ends.
void BlockLives::endUnfreed() {
  Allocations& a = trace_->allocations;
  Step end_step = device_->steps();
  for (size_t row = base_; row < a.size(); ++row) {
    if (a.last_step[row] != kNoStep) continue;
    if (a.free_requested_step[row] != kNoStep) {
      a.last_step[row] = a.free_requested_step[row];
      continue;
    }
    Step gap = lastGap(*device_, a.first_step[row] + 1, end_step);
    a.last_step[row] = gap == kNoStep ? end_step : gap;
    a.provenance[row] = Provenance::kLost;
    if (gap == kNoStep) note(IssueKind::kGoneWithoutFree, a.first_step[row], a.block_bytes[row]);
  }
  for (OlderBlock& older : older_) {
    if (older.last_step == kNoStep) older.last_step = older.free_requested_step;
  }
}

void BlockLives::reportOutside() {
  const Allocations& a = trace_->allocations;
  for (size_t row = base_; row < a.size(); ++row) {
    if (!a.segment[row].valid())
      note(IssueKind::kOutsideSegments, a.first_step[row], a.block_bytes[row]);
  }
  for (const OlderBlock& older : older_) {
    if (!older.segment.valid())
      note(IssueKind::kOutsideSegments, older.first_step, older.block_bytes);
  }
}

// What missing kinds of events explain is one issue, not one per block.
void BlockLives::note(IssueKind kind, Step step, uint64_t bytes) {
  if (!is_explained_(device_->missing, kind)) trace_->note(*device_, kind, step, bytes);
}

}  // namespace tidegauge::model
