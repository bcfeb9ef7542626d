#include "model/lives.h"

#include <algorithm>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <numeric>

#include "model/block_layout.h"
#include "model/block_size.h"
#include "model/piece_lives.h"
#include "model/stated_sums.h"

namespace tidegauge::model {
namespace {

constexpr uint32_t kNoRow = UINT32_MAX;
constexpr uint32_t kOlderBit = uint32_t{1} << 31;  // the row is in older_, not among the traced

// What is known of one address while events are read forwards.
struct Place {
  uint32_t row = kNoRow;    // the block that is live there
  uint32_t version = 0;     // lives that have ended there
  Step last_end = kNoStep;  // when the last one ended
};

// values[i] = the largest value that was raised on a range holding i, 0 if none. O(1) per range,
// O(n log n) at the end (a sparse table filled backwards).
class RangeMaximum {
 public:
  explicit RangeMaximum(size_t size) : levels_(std::bit_width(size), std::vector<Step>(size, 0)) {}

  void raise(size_t begin, size_t end, Step value) {
    if (begin >= end) return;
    size_t level = static_cast<size_t>(std::bit_width(end - begin)) - 1;
    Step& left = levels_[level][begin];
    Step& right = levels_[level][end - (size_t{1} << level)];
    left = std::max(left, value);
    right = std::max(right, value);
  }

  std::vector<Step> values() {
    for (size_t level = levels_.size() - 1; level > 0; --level) {
      size_t half = size_t{1} << (level - 1);
      for (size_t i = 0; i + half < levels_[level].size(); ++i) {
        Step value = levels_[level][i];
        levels_[level - 1][i] = std::max(levels_[level - 1][i], value);
        levels_[level - 1][i + half] = std::max(levels_[level - 1][i + half], value);
      }
    }
    return levels_[0];
  }

 private:
  std::vector<std::vector<Step>> levels_;  // levels_[k][i] covers [i, i + 2^k)
};

struct Older {  // a block without an alloc event
  uint64_t address = 0;
  uint64_t requested_bytes = 0;
  uint64_t block_bytes = 0;
  SegmentId segment;
  StackId stack;
  Step first_step = 0;
  Step last_step = 0;
  Step free_requested_step = kNoStep;
  uint32_t version = 0;
  StreamId stream;
  PoolId pool;
  Provenance provenance = Provenance::kBeforeRecording;
  uint8_t flags = 0;
  StringId category;
};

class LifeBuilder {
 public:
  LifeBuilder(Trace& trace, Device& device)
      : trace_(trace), device_(device), owned_(trace, device), base_(trace.allocations.size()) {}

  void run() {
    reserveRows();
    for (Step step = 0; step < device_.steps(); ++step) readEvent(step);
    joinFinalBlocks();
    endUnfreed();
    reportOutside();
    writeOlder();
  }

 private:
  Allocations& rows() { return trace_.allocations; }

  // Columns grow to their exact size at once: at ten million events a doubling vector would hold
  // twice the memory for a moment.
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
        if (place != places_.end()) trace_.events.subject[event] = place->second.row;
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
    if (place.row != kNoRow) replaceLive(place, step);
    owned_.advanceTo(step);
    uint64_t requested = events.size_bytes[event];
    Allocations& a = rows();
    place.row = static_cast<uint32_t>(a.size() - base_);
    subjectOf(event) = place.row;
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

  // An alloc at a live address: that block's free was not recorded, or only half of it.
  void replaceLive(Place& place, Step step) {
    if (letGoAt(place) != kNoStep) {
      endAtRequest(place);
      return;
    }
    size_t row = base_ + place.row;  // blocks without an alloc are known by a free_requested
    rows().last_step[row] = step;
    rows().provenance[row] = Provenance::kLost;
    note(IssueKind::kAllocOverLive, step, rows().block_bytes[row]);
    endLife(place, step);
  }

  static void endLife(Place& place, Step step) {
    place.row = kNoRow;
    place.version++;
    place.last_end = step;
  }

  // When the program let go of the block that is live at the place; kNoStep if it holds on to it.
  Step letGoAt(const Place& place) {
    return place.row & kOlderBit ? older_[place.row & ~kOlderBit].free_requested_step
                                 : rows().free_requested_step[base_ + place.row];
  }

  // The block was let go of, its completion was not recorded, and another life has begun since.
  void endAtRequest(Place& place) {
    Step step = letGoAt(place);
    (place.row & kOlderBit ? older_[place.row & ~kOlderBit].last_step
                           : rows().last_step[base_ + place.row]) = step;
    endLife(place, step);
  }

  void onFree(Step step, size_t event, bool requested, bool completed) {
    const Events& events = trace_.events;
    Place& place = places_[events.address[event]];
    // Nobody lets go twice: there was another life in between.
    if (requested && place.row != kNoRow && letGoAt(place) != kNoStep) endAtRequest(place);
    if (place.row == kNoRow) addOlder(place, step, event);
    subjectOf(event) = place.row;
    if (place.row & kOlderBit) {
      Older& older = older_[place.row & ~kOlderBit];
      if (requested) older.free_requested_step = step;
      if (completed) {
        older.last_step = step;
        older.flags |= kFreeCompletedSeen;
      }
    } else {
      size_t row = base_ + place.row;
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
    Older older;
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
    if (place.last_end != kNoStep) {
      older.first_step = place.last_end;
      older.provenance = Provenance::kLost;
      note(IssueKind::kFreeAgain, step, older.block_bytes);
    } else {
      note(IssueKind::kFreeWithoutAlloc, step, older.block_bytes);
    }
    place.row = kOlderBit | static_cast<uint32_t>(older_.size());
    older_.push_back(older);
  }

  // The final state's active blocks: the end of traced lives, or ghosts.
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
    cutGhosts();
  }

  void joinFinalBlock(uint64_t segment, uint64_t block, bool pending) {
    FinalBlocks& blocks = trace_.final_blocks;
    uint64_t address = blocks.address[block];
    uint8_t seen = static_cast<uint8_t>(kInFinalState | (pending ? kPendingAtEnd : 0));
    Place& place = places_[address];
    // The recorded block was let go of, the final one was not: they are two lives.
    if (!pending && place.row != kNoRow && letGoAt(place) != kNoStep && !isInFinalState(place)) {
      endAtRequest(place);
    }
    if (place.row == kNoRow) {
      Older ghost;
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
        ghost.first_step = place.last_end;
        if (pending) ghost.free_requested_step = place.last_end;
        ghost.provenance = Provenance::kLost;
        note(IssueKind::kFinalBlockOverlaps, place.last_end, ghost.block_bytes);
      }
      place.row = kOlderBit | static_cast<uint32_t>(older_.size());
      older_.push_back(ghost);
    } else if (place.row & kOlderBit) {
      Older& older = older_[place.row & ~kOlderBit];
      if (older.flags & kInFinalState) {  // two final blocks at one address
        note(IssueKind::kFinalBlockOverlaps, kNoStep, blocks.size_bytes[block]);
        return;
      }
      older.flags = static_cast<uint8_t>((older.flags & ~kBlockInferred) | seen);
      older.block_bytes = blocks.size_bytes[block];
      older.last_step = device_.steps();
    } else {
      size_t row = base_ + place.row;
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
    final_row_of_block_.emplace_back(block, place.row);
  }

  bool isInFinalState(const Place& place) {
    return ((place.row & kOlderBit ? older_[place.row & ~kOlderBit].flags
                                   : rows().flags[base_ + place.row]) &
            kInFinalState) != 0;
  }

  // A ghost cannot have been there while a recorded block lay inside its range: it begins after it.
  void cutGhosts() {
    struct Range {
      uint64_t begin, end;
      uint32_t older;
    };
    std::vector<Range> ghosts;
    for (size_t i = 0; i < older_.size(); ++i) {
      if (older_[i].provenance != Provenance::kGhost) continue;
      ghosts.push_back(
          {older_[i].address, older_[i].address + older_[i].block_bytes, static_cast<uint32_t>(i)});
    }
    if (ghosts.empty()) return;
    std::sort(ghosts.begin(), ghosts.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    RangeMaximum last_inside(ghosts.size());
    auto meet = [&](uint64_t begin, uint64_t end, Step last, Step let_go) {
      if (last == kNoStep) last = let_go;
      if (last == kNoStep) return;
      auto by_begin = [](const Range& g, uint64_t address) { return g.begin < address; };
      auto low = std::lower_bound(ghosts.begin(), ghosts.end(), begin, by_begin);
      if (low != ghosts.begin() && (low - 1)->end > begin) --low;
      auto high = std::lower_bound(low, ghosts.end(), end, by_begin);
      last_inside.raise(static_cast<size_t>(low - ghosts.begin()),
                        static_cast<size_t>(high - ghosts.begin()), last + 1);
    };
    for (size_t row = base_; row < rows().size(); ++row) {
      if (rows().flags[row] & kInFinalState) continue;
      meet(rows().address[row], rows().address[row] + rows().requested_bytes[row],
           rows().last_step[row], rows().free_requested_step[row]);
    }
    for (const Older& older : older_) {
      if (older.flags & kInFinalState) continue;
      meet(older.address, older.address + older.requested_bytes, older.last_step,
           older.free_requested_step);
    }
    std::vector<Step> last = last_inside.values();
    for (size_t i = 0; i < ghosts.size(); ++i) {
      if (last[i] == 0) continue;
      Older& older = older_[ghosts[i].older];
      older.provenance = Provenance::kLost;
      older.first_step = last[i] - 1;
      if (older.flags & kPendingAtEnd) older.free_requested_step = older.first_step;
      note(IssueKind::kFinalBlockOverlaps, older.first_step, older.block_bytes);
    }
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
      rows().last_step[row] = end_step;
      rows().provenance[row] = Provenance::kLost;
      note(IssueKind::kGoneWithoutFree, rows().first_step[row], rows().block_bytes[row]);
    }
    for (Older& older : older_) {
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
    for (const Older& older : older_) check(older.segment, older.first_step, older.block_bytes);
  }

  // Drawing order: ghosts, before_recording with the longest lives lowest, then everything by
  // first_step. Rows are put in front of the traced ones; the few lost blocks that begin in the
  // middle are merged in.
  void writeOlder() {
    std::vector<uint32_t> order(older_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const Older& oa = older_[a];
      const Older& ob = older_[b];
      if (oa.first_step != ob.first_step) return oa.first_step < ob.first_step;
      if (oa.last_step != ob.last_step) return oa.last_step > ob.last_step;
      return oa.address < ob.address;
    });
    size_t front = 0;
    while (front < order.size() && older_[order[front]].first_step == 0) ++front;

    size_t traced = rows().size() - base_;
    std::vector<uint32_t> older_row(older_.size());
    for (size_t i = 0; i < front; ++i) older_row[order[i]] = static_cast<uint32_t>(i);
    // Position of late older rows among the traced, and the shift of the traced after them.
    std::vector<size_t> late_position;
    for (size_t i = front; i < order.size(); ++i) {
      auto begin = rows().first_step.begin() + static_cast<ptrdiff_t>(base_);
      auto at = std::upper_bound(begin, begin + static_cast<ptrdiff_t>(traced),
                                 older_[order[i]].first_step);
      late_position.push_back(static_cast<size_t>(at - begin));
      older_row[order[i]] = static_cast<uint32_t>(front + late_position.back() + (i - front));
    }
    auto rowOf = [&](uint32_t subject) -> uint32_t {
      if (subject & kOlderBit)
        return static_cast<uint32_t>(base_ + older_row[subject & ~kOlderBit]);
      auto late = std::upper_bound(late_position.begin(), late_position.end(), subject);
      return static_cast<uint32_t>(base_ + front + subject +
                                   static_cast<size_t>(late - late_position.begin()));
    };
    fixSubjects(rowOf);
    insertOlder(order, front, late_position);
    device_.allocation_begin = base_;
    device_.allocation_end = rows().size();
  }

  template <class RowOf>
  void fixSubjects(RowOf&& rowOf) {
    for (uint64_t event = device_.event_begin; event < device_.event_end; ++event) {
      Action action = trace_.events.action[event];
      bool of_allocation = action <= Action::kFree || action == Action::kAnnotate;
      uint32_t& subject = trace_.events.subject[event];
      if (of_allocation && subject != kNoRow) subject = rowOf(subject);
    }
    for (auto [block, subject] : final_row_of_block_) {
      trace_.final_blocks.allocation[block] = AllocationId(rowOf(subject));
    }
  }

  void insertOlder(const std::vector<uint32_t>& order, size_t front,
                   const std::vector<size_t>& late_position) {
    auto insert = [&](auto& column, auto field) {
      using Value = typename std::remove_reference_t<decltype(column)>::value_type;
      std::vector<Value> head(front);
      for (size_t i = 0; i < front; ++i) head[i] = Value(field(older_[order[i]]));
      auto begin = column.begin() + static_cast<ptrdiff_t>(base_);
      if (late_position.empty()) {
        column.insert(begin, head.begin(), head.end());
        return;
      }
      std::vector<Value> merged = std::move(head);
      merged.reserve(column.size() - base_ + order.size());
      size_t from = 0;
      for (size_t i = 0; i < late_position.size(); ++i) {
        merged.insert(merged.end(), begin + static_cast<ptrdiff_t>(from),
                      begin + static_cast<ptrdiff_t>(late_position[i]));
        from = late_position[i];
        merged.push_back(Value(field(older_[order[front + i]])));
      }
      merged.insert(merged.end(), begin + static_cast<ptrdiff_t>(from), column.end());
      column.resize(base_);
      column.insert(column.end(), merged.begin(), merged.end());
    };
    Allocations& a = rows();
    insert(a.address, [](const Older& o) { return o.address; });
    insert(a.requested_bytes, [](const Older& o) { return o.requested_bytes; });
    insert(a.block_bytes, [](const Older& o) { return o.block_bytes; });
    insert(a.segment, [](const Older& o) { return o.segment; });
    insert(a.stack, [](const Older& o) { return o.stack; });
    insert(a.last_step, [](const Older& o) { return o.last_step; });
    insert(a.free_requested_step, [](const Older& o) { return o.free_requested_step; });
    insert(a.version, [](const Older& o) { return o.version; });
    insert(a.stream, [](const Older& o) { return o.stream; });
    insert(a.pool, [](const Older& o) { return o.pool; });
    insert(a.provenance, [](const Older& o) { return o.provenance; });
    insert(a.flags, [](const Older& o) { return o.flags; });
    insert(a.first_step, [](const Older& o) { return o.first_step; });
    if (!trace_.events.category.empty()) {
      insert(a.category, [](const Older& o) { return o.category; });
    }
  }

  void note(IssueKind kind, Step step, uint64_t bytes) { trace_.note(device_, kind, step, bytes); }

  Trace& trace_;
  Device& device_;
  OwnedRanges owned_;
  size_t base_;
  boost::unordered_flat_map<uint64_t, Place> places_;
  std::vector<Older> older_;
  std::vector<std::pair<uint64_t, uint32_t>> final_row_of_block_;
};

void noteRecordingGaps(Trace& trace) {
  for (const Device& device : trace.devices) {
    if (device.steps() == 0) continue;
    // The ring buffer holds max_entries events, usually a round number, and drops the oldest.
    bool round = device.steps() >= 10000 && device.steps() % 1000 == 0;
    bool older = false;
    for (const Issue& issue : trace.issues.all()) {
      older |= issue.kind == IssueKind::kFreeWithoutAlloc && issue.device == device.ordinal;
    }
    if (round && older) {
      trace.issues.add(
          {.kind = IssueKind::kRingOverflow, .device = device.ordinal, .first_step = 0});
    }
  }
}

}  // namespace

void buildLives(Trace& trace) {
  trace.events.subject.assign(trace.events.size(), kNoRow);
  trace.final_segments.segment.assign(trace.final_segments.size(), SegmentId());
  trace.final_blocks.allocation.assign(trace.final_blocks.size(), AllocationId());
  for (Device& device : trace.devices) {
    buildPieceLives(trace, device);
    LifeBuilder(trace, device).run();
    inferBlocks(trace, device);
    noteContradictions(trace, device);
  }
  noteRecordingGaps(trace);
}

}  // namespace tidegauge::model
