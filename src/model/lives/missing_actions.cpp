#include "model/lives/missing_actions.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <vector>

#include "model/block_size.h"
#include "model/lives/stated_sums.h"

namespace tidegauge::model {
namespace {

constexpr size_t kKnownActions = static_cast<size_t>(Action::kFirstUnknown);
// One contradiction may have other reasons: a file is written under two locks, so that the final
// state may be a few events newer than the events, and files may be damaged. Three are proof.
constexpr uint64_t kProofs = 3;

struct AddressRange {
  uint64_t begin = 0, end = 0;
};

// Ranges without overlap, by their begin.
class RangeSet {
 public:
  bool overlaps(AddressRange range) const {
    auto at = ends_.lower_bound(range.begin);
    if (at != ends_.end() && at->first < range.end) return true;
    return at != ends_.begin() && std::prev(at)->second > range.begin;
  }
  bool contains(uint64_t address) const { return overlaps({address, address + 1}); }
  // Is it inside one of them?
  bool holds(AddressRange range) const {
    auto at = ends_.upper_bound(range.begin);
    return at != ends_.begin() && std::prev(at)->second >= range.end;
  }
  // Removes what overlaps, whole.
  void erase(AddressRange range) {
    auto at = ends_.lower_bound(range.begin);
    if (at != ends_.begin() && std::prev(at)->second > range.begin) --at;
    while (at != ends_.end() && at->first < range.end) at = ends_.erase(at);
  }
  void insert(AddressRange range) {
    erase(range);
    ends_.emplace(range.begin, range.end);
  }
  const std::map<uint64_t, uint64_t>& all() const { return ends_; }

 private:
  std::map<uint64_t, uint64_t> ends_;
};

class Proofs {
 public:
  Proofs(const Trace& trace, const Device& device) : trace_(trace), device_(device) {
    for (uint64_t e = device.event_begin; e < device.event_end; ++e) {
      Action action = trace.events.action[e];
      if (action < Action::kFirstUnknown) ++counts_[static_cast<size_t>(action)];
    }
  }

  ActionSet find() {
    bool allocs = has({Action::kAlloc});
    bool frees = has(kFrees);
    // A segment is requested by an allocation, which follows at once.
    if (!allocs) prove(Action::kAlloc, countOf({Action::kSegmentAlloc}));
    // … and is freed only when its blocks are.
    if (!allocs && !frees && isProven(Action::kAlloc)) proveFrees(kProofs * has(kSegmentDeaths));
    bool odd_blocks =
        (allocs != frees) || (frees && !has({Action::kFree}) &&
                              (!has({Action::kFreeRequested}) || !has({Action::kFreeCompleted})));
    if (odd_blocks) proveBlocks();
    // A final state that contradicts itself proves nothing about segments.
    bool adds_up = finalStateAddsUp();
    if (adds_up && !has(kSegmentBirths)) proveBirths();
    if (adds_up && has(kSegmentBirths) && !has(kSegmentDeaths)) proveDeaths();
    ActionSet missing;
    for (size_t i = 0; i < kKnownActions; ++i) {
      if (isProven(static_cast<Action>(i))) missing.add(static_cast<Action>(i));
    }
    return missing;
  }

 private:
  bool finalStateAddsUp() const {
    for (uint64_t s = device_.final_segment_begin; s < device_.final_segment_end; ++s) {
      if (segmentDifferenceBytes(trace_, s) != 0) return false;
    }
    return true;
  }

  uint64_t countOf(ActionSet actions) const {
    uint64_t count = 0;
    for (size_t i = 0; i < kKnownActions; ++i) {
      if (actions.has(static_cast<Action>(i))) count += counts_[i];
    }
    return count;
  }
  bool has(ActionSet actions) const { return countOf(actions) > 0; }
  AddressRange rangeOf(uint64_t event) const {
    uint64_t begin = trace_.events.address[event];
    uint64_t bytes = std::max<uint64_t>(trace_.events.size_bytes[event], 1);
    return {begin, bytes > UINT64_MAX - begin ? UINT64_MAX : begin + bytes};
  }

  template <class Visit>
  void forEachFinalBlock(Visit&& visit) const {
    const FinalSegments& segments = trace_.final_segments;
    for (uint64_t s = device_.final_segment_begin; s < device_.final_segment_end; ++s) {
      for (uint64_t b = segments.block_begin[s]; b < segments.block_end[s]; ++b) {
        visit(trace_.final_blocks.address[b], trace_.final_blocks.state[b]);
      }
    }
  }

  void prove(Action missing, uint64_t proofs = 1) {
    proofs_[static_cast<size_t>(missing)] += proofs;
  }
  bool isProven(Action missing) const { return proofs_[static_cast<size_t>(missing)] >= kProofs; }

  enum class State : uint8_t { kUnknown, kLive, kRequested, kFreed };

  // Reads the blocks' events. An event that cannot follow the one before it at its address proves
  // that one of a kind without events happened in between.
  void proveBlocks() {
    boost::unordered_flat_map<uint64_t, State> places;
    RangeSet born;  // segments of the recording
    bool no_alloc = !has({Action::kAlloc}), no_free = !has(kFrees);
    bool no_request = !no_free && !has({Action::kFreeRequested, Action::kFree});
    bool no_completion = !no_free && !has({Action::kFreeCompleted, Action::kFree});
    for (uint64_t e = device_.event_begin; e < device_.event_end; ++e) {
      Action action = trace_.events.action[e];
      if (action == Action::kSegmentAlloc || action == Action::kSegmentMap) {
        if (no_alloc) born.insert(rangeOf(e));
        continue;
      }
      if (action > Action::kFree) continue;
      State& state = places[trace_.events.address[e]];
      if (action == Action::kAlloc) {
        if (no_free && state == State::kLive) proveFrees(1);
        if (no_completion && state == State::kRequested) prove(Action::kFreeCompleted);
        state = State::kLive;
        continue;
      }
      bool requests = action != Action::kFreeCompleted;
      bool again =
          requests ? state == State::kRequested || state == State::kFreed : state == State::kFreed;
      bool in_born = state == State::kUnknown && born.contains(trace_.events.address[e]);
      if (no_alloc && (again || in_born)) prove(Action::kAlloc);
      if (no_completion && again) prove(Action::kFreeCompleted);
      if (no_request && (again || in_born || state == State::kLive)) prove(Action::kFreeRequested);
      state = action == Action::kFreeRequested ? State::kRequested : State::kFreed;
    }
    proveByFinalState(places, no_alloc, no_free, no_completion);
  }

  // Without a free of either kind, nothing shows which of them was left out: both.
  void proveFrees(uint64_t proofs) {
    prove(Action::kFreeRequested, proofs);
    prove(Action::kFreeCompleted, proofs);
  }

  void proveByFinalState(boost::unordered_flat_map<uint64_t, State>& places, bool no_alloc,
                         bool no_free, bool no_completion) {
    bool has_state = device_.final_segment_begin < device_.final_segment_end;
    forEachFinalBlock([&](uint64_t address, BlockState block) {
      if (block != BlockState::kActiveAllocated && block != BlockState::kActivePendingFree) return;
      auto place = places.find(address);
      if (place == places.end()) return;
      bool freed = place->second == State::kRequested || place->second == State::kFreed;
      if (no_alloc && freed && block == BlockState::kActiveAllocated) prove(Action::kAlloc);
      place->second = State::kUnknown;  // accounted for
    });
    if (!has_state) return;
    for (const auto& [address, state] : places) {
      if (no_free && state == State::kLive) proveFrees(1);
      if (no_completion && state == State::kRequested) prove(Action::kFreeCompleted);
    }
  }

  // Segments appear without an event: a block outside of all that the file names had one, too.
  void proveBirths() {
    const FinalSegments& finals = trace_.final_segments;
    bool no_death = !has(kSegmentDeaths);
    RangeSet known;  // to be freed later, or there at the end
    for (uint64_t s = device_.final_segment_begin; s < device_.final_segment_end; ++s) {
      uint64_t begin = finals.address[s];
      known.insert({begin, begin + finals.total_bytes[s]});
    }
    // Backwards: before a segment_free its range is known; the same range twice needs a birth.
    ActionSet one_per_block = has({Action::kAlloc}) ? ActionSet{Action::kAlloc}
                              : has({Action::kFreeRequested, Action::kFree})
                                  ? ActionSet{Action::kFreeRequested, Action::kFree}
                                  : ActionSet{Action::kFreeCompleted};
    uint64_t outside = 0, twice = 0;
    for (uint64_t e = device_.event_end; e-- > device_.event_begin;) {
      Action action = trace_.events.action[e];
      if (kSegmentDeaths.has(action)) {
        AddressRange range = rangeOf(e);
        twice += known.overlaps(range);
        known.insert(range);
      } else if (one_per_block.has(action)) {
        // … also one that reaches across the end of a segment.
        outside += !known.holds(rangeOf(e));
      }
    }
    bool has_state = device_.final_segment_begin < device_.final_segment_end;
    bool unseen = outside > 0 && (has_state || !no_death);
    prove(Action::kSegmentAlloc, twice + (unseen ? outside : 0));
    if (unseen && no_death) prove(Action::kSegmentFree, outside);
    if (outside == 0 && twice == 0 && beganEmpty(known)) prove(Action::kSegmentAlloc, kProofs);
  }

  // Was nothing allocated when the recording began, and has each of several segments exactly the
  // size that its first block asks the driver for? Then they were allocated in the recording. (A
  // cache that was warm at the beginning serves other sizes, too.)
  bool beganEmpty(const RangeSet& segments) const {
    constexpr size_t kSegmentsAreProof = 3;
    if (!has({Action::kAlloc}) || segments.all().size() < kSegmentsAreProof) return false;
    boost::unordered_flat_map<uint64_t, bool> allocated;  // addresses
    boost::unordered_flat_map<uint64_t, uint64_t>
        requests;  // the first one, by the segment's begin
    for (uint64_t e = device_.event_begin; e < device_.event_end; ++e) {
      Action action = trace_.events.action[e];
      uint64_t address = trace_.events.address[e];
      if (action == Action::kAlloc) {
        allocated[address] = true;
        auto segment = segments.all().upper_bound(address);
        if (segment == segments.all().begin()) return false;
        --segment;
        bool first = requests.try_emplace(segment->first, trace_.events.size_bytes[e]).second;
        if (first && address != segment->first) return false;
      } else if (action <= Action::kFree && !allocated.contains(address)) {
        return false;
      }
    }
    bool all_allocated = true;
    forEachFinalBlock([&](uint64_t address, BlockState block) {
      bool active =
          block == BlockState::kActiveAllocated || block == BlockState::kActivePendingFree;
      all_allocated &= !active || allocated.contains(address);
    });
    return all_allocated &&
           std::all_of(segments.all().begin(), segments.all().end(), [&](const auto& segment) {
             auto request = requests.find(segment.first);
             return request != requests.end() &&
                    segmentBytes(request->second) == segment.second - segment.first;
           });
  }

  // The size of the segment that the caching allocator asks for, with its default sizes.
  uint64_t segmentBytes(uint64_t request_bytes) const {
    constexpr uint64_t kMiB = uint64_t{1} << 20;
    uint64_t bytes = roundedBytes(request_bytes, trace_.settings);
    if (bytes <= kSmallRequestBytes) return 2 * kMiB;
    if (bytes < 10 * kMiB) return 20 * kMiB;
    return (bytes + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
  }

  // Segments are there without an end: one begins where another still is, or several are gone.
  void proveDeaths() {
    RangeSet live;
    for (uint64_t e = device_.event_begin; e < device_.event_end; ++e) {
      Action action = trace_.events.action[e];
      if (!kSegmentBirths.has(action)) continue;
      AddressRange range = rangeOf(e);
      if (live.overlaps(range)) prove(Action::kSegmentFree);
      live.insert(range);
    }
    RangeSet finals;
    for (uint64_t s = device_.final_segment_begin; s < device_.final_segment_end; ++s) {
      uint64_t begin = trace_.final_segments.address[s];
      finals.insert({begin, begin + trace_.final_segments.total_bytes[s]});
    }
    if (device_.final_segment_begin == device_.final_segment_end) return;
    for (const auto& [begin, end] : live.all()) {
      if (!finals.overlaps({begin, end})) prove(Action::kSegmentFree);
    }
  }

  const Trace& trace_;
  const Device& device_;
  std::array<uint64_t, kKnownActions> counts_{};
  std::array<uint64_t, kKnownActions> proofs_{};  // that events of a kind happened unrecorded
};

}  // namespace

ActionSet missingActions(const Trace& trace, const Device& device) {
  bool recorded = trace.work != nullptr;  // by this program: it leaves nothing out
  if (recorded || device.steps() == 0) return {};
  return Proofs(trace, device).find();
}

std::string namesOf(ActionSet actions) {
  std::string names;
  for (size_t i = 0; i < kKnownActions; ++i) {
    if (!actions.has(static_cast<Action>(i))) continue;
    if (!names.empty()) names += ", ";
    names += name(static_cast<Action>(i));
  }
  return names;
}

std::string_view name(Bound bound) {
  constexpr std::string_view kNames[] = {"exact", "at_least", "at_most"};
  return kNames[static_cast<size_t>(bound)];
}

Bounds boundsOf(const Device& device) {
  ActionSet missing = device.missing;
  Bounds bounds;
  bool no_alloc = missing.has(Action::kAlloc);
  bool no_request = missing.has(Action::kFreeRequested);
  bool no_completion = missing.has(Action::kFreeCompleted);
  if (no_alloc || (no_request && no_completion)) {
    bounds.active = bounds.allocated = Bound::kAtMost;
  } else if (no_completion) {
    bounds.active = Bound::kAtLeast;  // a block counts until its free was requested
  } else if (no_request) {
    bounds.allocated = Bound::kAtMost;  // … until the free was completed
  }
  if (missing.has(Action::kSegmentAlloc)) {
    bounds.reserved = Bound::kAtLeast;
  } else if (missing.has(Action::kSegmentFree)) {
    bounds.reserved = Bound::kAtMost;
  }
  return bounds;
}

bool blocksAreUnseen(const Trace& trace, const Device& device) {
  if (!device.missing.has(Action::kAlloc)) return false;
  auto begin = trace.events.action.begin();
  return std::none_of(begin + static_cast<ptrdiff_t>(device.event_begin),
                      begin + static_cast<ptrdiff_t>(device.event_end),
                      [](Action action) { return kFrees.has(action); });
}

CertainLife certainLife(const Trace& trace, const Device& device, uint64_t row) {
  const Allocations& a = trace.allocations;
  CertainLife life{a.first_step[row], a.last_step[row]};
  Step steps = device.steps();
  bool is_final = a.has(row, kInFinalState);
  bool is_freed = a.has(row, kFreeCompletedSeen) || a.free_requested_step[row] < steps;
  if (device.missing.has(Action::kAlloc) && !a.has(row, kAllocSeen)) {
    // Certain from just before its free on; without one, at the end.
    Step known = is_freed ? std::min(a.free_requested_step[row], life.last) : steps;
    life.first = std::max(life.first, known == 0 ? 0 : known - 1);
  }
  bool no_free =
      device.missing.has(Action::kFreeRequested) && device.missing.has(Action::kFreeCompleted);
  if (no_free && !is_final && !is_freed) life.last = std::min(life.last, life.first + 1);
  return life;
}

}  // namespace tidegauge::model
