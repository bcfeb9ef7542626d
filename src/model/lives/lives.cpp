#include "model/lives/lives.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

#include "model/block_size.h"
#include "model/lives/block_layout.h"
#include "model/lives/gaps.h"
#include "model/lives/longest_lives.h"
#include "model/lives/missing_actions.h"
#include "model/lives/older_blocks.h"
#include "model/lives/owned_ranges.h"
#include "model/lives/piece_lives.h"
#include "model/lives/proven_segments.h"
#include "model/lives/recording_issues.h"
#include "model/lives/stated_sums.h"
#include "model/pinned_requests.h"

namespace tidegauge::model {
namespace {

constexpr ActionSet kBlockActions{Action::kAlloc, Action::kFreeRequested, Action::kFreeCompleted};

// The state of one address while events are read forwards.
struct Place {
  BlockNumber block = kNoBlock;  // the block that is live there
  uint32_t version = 0;          // lives that have ended there
  Step last_end = kNoStep;       // when the last one ended
};

class LifeBuilder {
 public:
  LifeBuilder(Trace& trace, Device& device, const CarriedAllocations& carried)
      : trace_(trace),
        device_(device),
        carried_(carried),
        owned_(trace, device),
        base_(trace.allocations.size()) {
    device_.allocation_begin = base_;
  }

  void run() {
    reserveRows();
    for (Step step = 0; step < device_.steps(); ++step) readEvent(step);
    joinFinalBlocks();
    endUnfreed();
    if (device_.missing.touches(kBlockActions)) drawLongestLives(trace_, device_, base_, older_);
    reportOutside();
    writeInDrawingOrder(trace_, device_, older_, final_blocks_);
  }

 private:
  Allocations& rows() { return trace_.allocations; }

  // Columns are allocated in their exact size: at ten million events, a doubling vector would
  // briefly hold twice the memory.
  void reserveRows() {
    size_t births = 0;
    for (uint64_t i = device_.event_begin; i < device_.event_end; ++i) {
      births += trace_.events.action[i] == Action::kAlloc;
    }
    forEachColumn([&](auto& column) { column.reserve(base_ + births + births / 16 + 64); });
  }

  template <class F>
  void forEachColumn(F&& f) {
    Allocations& a = rows();
    f(a.address);
    f(a.requested_bytes);
    f(a.block_bytes);
    f(a.segment);
    f(a.stack);
    f(a.first_step);
    f(a.last_step);
    f(a.free_requested_step);
    f(a.version);
    f(a.stream);
    f(a.pool);
    f(a.provenance);
    f(a.flags);
    if (!trace_.events.category.empty()) f(a.category);
  }

  void readEvent(Step step) {
    size_t event = device_.event_begin + step;
    switch (trace_.events.action[event]) {
      case Action::kAlloc:
        onAlloc(step, event);
        break;
      case Action::kFreeRequested:
        onFree(step, event, /*requested=*/true, /*completed=*/false);
        break;
      case Action::kFreeCompleted:
        onFree(step, event, /*requested=*/false, /*completed=*/true);
        break;
      case Action::kFree:
        onFree(step, event, /*requested=*/true, /*completed=*/true);
        break;
      case Action::kAnnotate: {
        auto place = places_.find(trace_.events.address[event]);
        if (place != places_.end()) trace_.events.subject[event] = place->second.block;
        break;
      }
      default:
        break;
    }
  }

  void onAlloc(Step step, size_t event) {
    const Events& events = trace_.events;
    uint64_t address = events.address[event];
    Place& place = places_[address];
    if (place.block != kNoBlock) replaceLive(place, step);
    owned_.advanceTo(step);
    uint64_t requested = events.size_bytes[event];
    Allocations& a = rows();
    place.block = static_cast<uint32_t>(a.size() - base_);
    subjectOf(event) = place.block;
    SegmentId segment = owned_.find(address);
    a.address.push_back(address);
    a.requested_bytes.push_back(requested);
    a.block_bytes.push_back(roundedBytes(requested, trace_.settings));
    a.segment.push_back(segment);
    a.stack.push_back(events.stack[event]);
    a.first_step.push_back(step);
    a.last_step.push_back(kNoStep);
    a.free_requested_step.push_back(kNoStep);
    a.version.push_back(place.version);
    a.stream.push_back(events.stream[event]);
    a.pool.push_back(poolOf(event, segment));
    a.provenance.push_back(Provenance::kTraced);
    a.flags.push_back(kAllocSeen | kBlockInferred);
    if (!events.category.empty()) a.category.push_back(events.category[event]);
  }

  uint32_t& subjectOf(size_t event) { return trace_.events.subject[event]; }

  PoolId poolOf(size_t event, SegmentId segment) const {
    if (!trace_.events.pool.empty() && trace_.events.pool[event].valid()) {
      return trace_.events.pool[event];
    }
    return segment.valid() ? trace_.segments.pool[segment.index()] : PoolId();
  }

  // An alloc at a live address: the free of that block was not recorded, or only half of it.
  void replaceLive(Place& place, Step step) {
    if (freeRequestedAt(place) != kNoStep) {
      endAtRequest(place);
      return;
    }
    size_t row = base_ + place.block;  // blocks without an alloc are known by a free_requested
    if (endAtGap(place, step)) return;
    rows().last_step[row] = step;
    rows().provenance[row] = Provenance::kLost;
    note(IssueKind::kAllocOverLive, step, rows().block_bytes[row]);
    endLife(place, step);
  }

  // A live block of which an event at `step` shows that it ended before: in the gap between, if
  // there is one.
  bool endAtGap(Place& place, Step step) {
    size_t row = base_ + place.block;
    Step gap = lastGap(device_, rows().first_step[row] + 1, step);
    if (gap == kNoStep) return false;
    rows().last_step[row] = gap;
    rows().provenance[row] = Provenance::kLost;
    endLife(place, gap);
    return true;
  }

  static void endLife(Place& place, Step step) {
    place.block = kNoBlock;
    place.version++;
    place.last_end = step;
  }

  // When the program requested the free of the live block at the place; kNoStep if not yet.
  Step freeRequestedAt(const Place& place) {
    return place.block & kOlderBit ? older_[place.block & ~kOlderBit].free_requested_step
                                   : rows().free_requested_step[base_ + place.block];
  }

  // The free was requested, its completion was not recorded, and another life has begun since.
  void endAtRequest(Place& place) {
    Step step = freeRequestedAt(place);
    (place.block & kOlderBit ? older_[place.block & ~kOlderBit].last_step
                             : rows().last_step[base_ + place.block]) = step;
    endLife(place, step);
  }

  void onFree(Step step, size_t event, bool requested, bool completed) {
    const Events& events = trace_.events;
    Place& place = places_[events.address[event]];
    // A block is freed once, so there was another life in between.
    if (requested && place.block != kNoBlock && freeRequestedAt(place) != kNoStep)
      endAtRequest(place);
    if (place.block != kNoBlock && (place.block & kOlderBit) == 0 && !device_.gaps.empty() &&
        rows().requested_bytes[base_ + place.block] != events.size_bytes[event]) {
      endAtGap(place, step);  // another block, allocated in the gap
    }
    if (place.block == kNoBlock) addOlder(place, step, event);
    subjectOf(event) = place.block;
    if (place.block & kOlderBit) {
      OlderBlock& older = older_[place.block & ~kOlderBit];
      if (requested) older.free_requested_step = step;
      if (completed) {
        older.last_step = step;
        older.flags |= kFreeCompletedSeen;
      }
    } else {
      size_t row = base_ + place.block;
      if (rows().requested_bytes[row] != events.size_bytes[event]) {
        note(IssueKind::kSizeMismatch, step, 0);
      }
      if (requested) rows().free_requested_step[row] = step;
      if (completed) {
        rows().last_step[row] = step;
        rows().flags[row] |= kFreeCompletedSeen;
      }
    }
    if (completed) endLife(place, step);
  }

  void addOlder(Place& place, Step step, size_t event) {
    const Events& events = trace_.events;
    OlderBlock older;
    older.address = events.address[event];
    older.requested_bytes = events.size_bytes[event];
    older.block_bytes = roundedBytes(older.requested_bytes, trace_.settings);
    owned_.advanceTo(step);
    older.segment = owned_.find(older.address);
    older.stack = events.stack[event];
    older.last_step = kNoStep;
    older.version = place.version;
    older.stream = events.stream[event];
    older.pool = poolOf(event, older.segment);
    older.flags = kBlockInferred | kStackIsOfFree;
    if (!events.category.empty()) older.category = events.category[event];
    const CarriedAllocation* carried =
        place.last_end == kNoStep ? findCarried(older.address) : nullptr;
    if (carried != nullptr) {
      older.stack = carried->stack;
      older.flags = kBlockInferred;
    } else if (place.last_end != kNoStep) {
      Step gap = firstGap(device_, place.last_end, step);
      older.first_step = gap == kNoStep ? place.last_end : gap;
      older.provenance = Provenance::kLost;
      if (gap == kNoStep) note(IssueKind::kFreeAgain, step, older.block_bytes);
    } else {
      note(IssueKind::kFreeWithoutAlloc, step, older.block_bytes);
    }
    place.block = kOlderBit | static_cast<uint32_t>(older_.size());
    older_.push_back(older);
  }

  const CarriedAllocation* findCarried(uint64_t address) const {
    CarriedAllocation key{device_.ordinal, address, {}};
    auto at = std::lower_bound(carried_.begin(), carried_.end(), key);
    bool found = at != carried_.end() && at->device == key.device && at->address == address;
    return found ? &*at : nullptr;
  }

  // The final state's active blocks: ends of traced lives, or ghosts.
  void joinFinalBlocks() {
    const FinalSegments& segments = trace_.final_segments;
    for (uint64_t s = device_.final_segment_begin; s < device_.final_segment_end; ++s) {
      for (uint64_t b = segments.block_begin[s]; b < segments.block_end[s]; ++b) {
        BlockState state = trace_.final_blocks.state[b];
        if (state != BlockState::kActiveAllocated && state != BlockState::kActivePendingFree)
          continue;
        joinFinalBlock(s, b, state == BlockState::kActivePendingFree);
      }
    }
    if (!device_.missing.has(Action::kAlloc)) cutGhosts(trace_, device_, older_);
  }

  void joinFinalBlock(uint64_t segment, uint64_t block, bool pending) {
    FinalBlocks& blocks = trace_.final_blocks;
    uint64_t address = blocks.address[block];
    uint8_t seen = static_cast<uint8_t>(kInFinalState | (pending ? kPendingAtEnd : 0));
    Place& place = places_[address];
    // The recorded block was freed, the final one was not: they are two lives.
    if (!pending && place.block != kNoBlock && freeRequestedAt(place) != kNoStep &&
        !isInFinalState(place)) {
      endAtRequest(place);
    }
    if (place.block == kNoBlock) {
      OlderBlock ghost;
      ghost.address = address;
      ghost.requested_bytes = blocks.requested_bytes[block];
      ghost.segment = trace_.final_segments.segment[segment];
      ghost.stack = blocks.stack[block];
      ghost.last_step = device_.steps();
      if (pending) ghost.free_requested_step = 0;  // before the recording
      ghost.version = place.version;
      ghost.stream = trace_.final_segments.stream[segment];
      ghost.pool = trace_.final_segments.pool[segment];
      ghost.provenance = Provenance::kGhost;
      ghost.block_bytes = blocks.size_bytes[block];
      ghost.flags = seen;
      if (place.last_end != kNoStep) {
        Step gap = firstGap(device_, place.last_end, device_.steps());
        ghost.first_step = gap == kNoStep ? place.last_end : gap;
        if (pending) ghost.free_requested_step = ghost.first_step;
        ghost.provenance = Provenance::kLost;
        if (gap == kNoStep) note(IssueKind::kFinalBlockOverlaps, place.last_end, ghost.block_bytes);
      }
      place.block = kOlderBit | static_cast<uint32_t>(older_.size());
      older_.push_back(ghost);
    } else if (place.block & kOlderBit) {
      OlderBlock& older = older_[place.block & ~kOlderBit];
      if (older.flags & kInFinalState) {  // two final blocks at one address
        note(IssueKind::kFinalBlockOverlaps, kNoStep, blocks.size_bytes[block]);
        return;
      }
      older.flags = static_cast<uint8_t>((older.flags & ~kBlockInferred) | seen);
      older.block_bytes = blocks.size_bytes[block];
      older.last_step = device_.steps();
    } else {
      size_t row = base_ + place.block;
      if (rows().flags[row] & kInFinalState) {
        note(IssueKind::kFinalBlockOverlaps, kNoStep, blocks.size_bytes[block]);
        return;
      }
      if (rows().requested_bytes[row] != blocks.requested_bytes[block]) {
        note(IssueKind::kSizeMismatch, kNoStep, 0);
      }
      rows().flags[row] = static_cast<uint8_t>((rows().flags[row] & ~kBlockInferred) | seen);
      rows().block_bytes[row] = blocks.size_bytes[block];
      rows().last_step[row] = device_.steps();
    }
    final_blocks_.emplace_back(block, place.block);
  }

  bool isInFinalState(const Place& place) {
    return ((place.block & kOlderBit ? older_[place.block & ~kOlderBit].flags
                                     : rows().flags[base_ + place.block]) &
            kInFinalState) != 0;
  }

  // Lives that neither a completed free nor the final state ends.
  void endUnfreed() {
    Step end_step = device_.steps();
    for (size_t row = base_; row < rows().size(); ++row) {
      if (rows().last_step[row] != kNoStep) continue;
      if (rows().free_requested_step[row] != kNoStep) {
        rows().last_step[row] = rows().free_requested_step[row];
        continue;
      }
      Step gap = lastGap(device_, rows().first_step[row] + 1, end_step);
      rows().last_step[row] = gap == kNoStep ? end_step : gap;
      rows().provenance[row] = Provenance::kLost;
      if (gap == kNoStep)
        note(IssueKind::kGoneWithoutFree, rows().first_step[row], rows().block_bytes[row]);
    }
    for (OlderBlock& older : older_) {
      if (older.last_step == kNoStep) older.last_step = older.free_requested_step;
    }
  }

  void reportOutside() {
    auto check = [&](SegmentId segment, Step step, uint64_t bytes) {
      if (!segment.valid()) note(IssueKind::kOutsideSegments, step, bytes);
    };
    for (size_t row = base_; row < rows().size(); ++row) {
      check(rows().segment[row], rows().first_step[row], rows().block_bytes[row]);
    }
    for (const OlderBlock& older : older_) {
      check(older.segment, older.first_step, older.block_bytes);
    }
  }

  // What missing kinds of events explain is one issue, not one per block.
  void note(IssueKind kind, Step step, uint64_t bytes) {
    if (!isExplained(device_.missing, kind)) trace_.note(device_, kind, step, bytes);
  }

  Trace& trace_;
  Device& device_;
  const CarriedAllocations& carried_;
  OwnedRanges owned_;
  size_t base_;
  boost::unordered_flat_map<uint64_t, Place> places_;
  std::vector<OlderBlock> older_;
  std::vector<std::pair<uint64_t, BlockNumber>> final_blocks_;  // row, its block
};

}  // namespace

void buildLives(Trace& trace, const CarriedAllocations& carried) {
  trace.events.subject.assign(trace.events.size(), kNoBlock);
  trace.final_segments.segment.assign(trace.final_segments.size(), SegmentId());
  trace.final_blocks.allocation.assign(trace.final_blocks.size(), AllocationId());
  for (Device& device : trace.devices) {
    device.gaps = findGaps(trace, device);
    device.missing = missingActions(trace, device);
    bool has_births = !device.missing.has(Action::kSegmentAlloc);
    if (has_births) buildPieceLives(trace, device);
    LifeBuilder(trace, device, carried).run();
    if (!has_births) drawProvenSegments(trace, device);
    inferBlocks(trace, device);
    device.knows_requests = !statesRoundedRequests(trace, device);
    noteContradictions(trace, device);
    noteMissing(trace, device);
  }
  noteOverflow(trace);
}

void keepEventsAlone(Trace& trace) {
  trace.final_segments = {};
  trace.final_blocks = {};
  for (Device& device : trace.devices) device.final_segment_begin = device.final_segment_end = 0;
}

}  // namespace tidegauge::model
