// How a run of releases and completions before a request is read: the first interpretation that
// reproduces the entries counts.
//
//   segment_free  segment_free  segment_alloc  alloc      its own: collected, or flushed to retry
//                                                         the program's: empty_cache() just before
#include <algorithm>
#include <memory>
#include <utility>

#include "replay/verifier.h"

namespace tidegauge::replay {

using model::Action;
using model::Step;

Verifier::Group Verifier::groupHere() const {
  Group group{at_, at_, at_, false};
  while (group.end < tape_.steps()) {
    Action action = tape_.action(group.end);
    if (!isDriverTraffic(action) && action != Action::kFreeCompleted) break;
    if (action == Action::kFreeCompleted && group.late_end == group.end) ++group.late_end;
    ++group.end;
  }
  group.has_request = group.end < tape_.steps() && (tape_.action(group.end) == Action::kAlloc ||
                                                    tape_.action(group.end) == Action::kOom);
  return group;
}

// Executes the first interpretation that reproduces the trace.
bool Verifier::attempt(const Group& group) {
  bool is_plain = group.late_end == group.end && tape_.action(group.end) == Action::kAlloc;
  Action first = tape_.action(group.begin);
  bool was_given_first =
      group.begin < group.end && (first == Action::kSegmentAlloc || first == Action::kSegmentMap);
  size_t asked = result_.program.requests.size();
  if (is_plain || was_given_first) {
    if (malloc(group, group.late_end)) return true;
  } else {
    const Allocator saved = *allocator_;
    rebuild_work_ += saved.size();
    std::unique_ptr<Driver> saved_driver = driver_->clone();
    std::optional<Divergence> best;  // from the request that came furthest, or from the flush
    bool best_is_malloc = false;
    constexpr Step kMaxTries = 64;
    auto restore = [&](bool was_malloc) {
      bool is_better =
          was_malloc == best_is_malloc ? best && difference_->step > best->step : was_malloc;
      if (!best || is_better) {
        best = difference_;
        best_is_malloc = was_malloc;
      }
      difference_.reset();
      *allocator_ = saved;
      rebuild_work_ += saved.size();
      driver_ = saved_driver->clone();
      allocator_->rebind(*driver_, *this);
      result_.program.requests.resize(asked);
      at_ = group.begin;
    };
    Step late = group.late_end - group.begin;
    // A driver that had as much before would hardly refuse, and below the garbage threshold nothing
    // is collected, so the program emptied the cache itself.
    bool is_its_own = wouldBeFull(group) || allocator_->wouldCollect();
    if (!is_its_own) {
      if (emptied()) return true;
      restore(false);
    }
    for (Step i = 0; i <= std::min(late, kMaxTries); ++i) {
      if (malloc(group, group.late_end - i)) return true;
      restore(true);
    }
    if (late > kMaxTries) {
      if (malloc(group, group.begin)) return true;
      restore(true);
    }
    if (is_its_own) {
      if (emptied()) return true;
      restore(false);
    }
    if (capacity_bytes_) {
      refuses_as_recorded_ = true;
      bool is_explained = malloc(group, group.late_end);
      refuses_as_recorded_ = false;
      if (is_explained) {
        ++result_.refused_as_recorded;
        return true;
      }
      restore(true);
    }
    difference_ = best;
  }
  // The program's request counts in any case.
  result_.program.requests.resize(asked);
  ask(group, group.late_end);
  if (tape_.action(group.end) == Action::kOom) ++failed_requests_;
  return false;
}

bool Verifier::wouldBeFull(const Group& group) const {
  if (capacity_bytes_ || tape_.action(group.end) == Action::kOom) return true;  // malloc decides
  uint64_t bytes = std::min(tape_.bytes(group.end), model::kMaxRequestBytes);
  uint64_t segment_bytes = settings_.segmentBytes(settings_.roundedBytes(bytes));
  return reservedNow() + segment_bytes > most_reserved_bytes_;
}

// One request with all its driver traffic; its completions until `ready_end` were due when it
// began.
bool Verifier::malloc(const Group& group, Step ready_end) {
  uint64_t bytes = tape_.bytes(group.end);
  if (bytes == 0 || bytes > model::kMaxRequestBytes) {
    differs({}, Cause::kUnknown, true);
    return false;
  }
  ask(group, ready_end);
  for (Step step = group.begin; step < ready_end; ++step)
    if (!markDone(step)) return false;
  bool failed = tape_.action(group.end) == Action::kOom;
  uint64_t reserved_before = reservedNow();
  auto retries_before = allocator_->stats().retries;
  auto block = allocator_->malloc(bytes, tape_.stream(group.end), tape_.owner(group.end),
                                  tape_.name(group.end));
  if (difference_) return false;
  if (at_ != group.end + 1) {
    differs({}, Cause::kDriverTraffic, true);
    return false;
  }
  if (allocator_->stats().retries > retries_before) {
    ++result_.retried;
    noteRefusal(group, failed ? reservedNow() : reserved_before);
  }
  if (failed) {
    ++failed_requests_;
  } else if (uint32_t name = tape_.name(group.end); block && name != kNoName) {
    live_[name] = *block;
  }
  return true;
}

void Verifier::noteRefusal(const Group& group, uint64_t reserved_bytes) {
  uint64_t segment_bytes = settings_.segmentBytes(settings_.roundedBytes(tape_.bytes(group.end)));
  result_.refused_at_bytes =
      std::min(result_.refused_at_bytes.value_or(UINT64_MAX), reserved_bytes + segment_bytes);
  uint64_t free_bytes = tape_.address(group.end);  // of an oom
  if (tape_.action(group.end) == Action::kOom && free_bytes != model::kUnknownBytes &&
      free_bytes >= segment_bytes)
    ++result_.refused_with_room;
}

bool Verifier::flush() {
  Step begin = at_;
  asks(Op::kEmptyCache, begin);
  allocator_->emptyCache();
  if (!difference_ && at_ == begin) differs({}, Cause::kDriverTraffic, true);
  return !difference_;
}

bool Verifier::emptied() {
  if (!flush()) return false;
  ++result_.emptied_before_requests;
  return true;
}

// Frees whose other streams were found done when the next malloc began.
bool Verifier::complete(Step end) {
  askDone(at_, end);  // the program's, whatever the comparison yields
  for (Step step = at_; step < end; ++step)
    if (!markDone(step)) return false;
  allocator_->processEvents();
  return !difference_;
}

bool Verifier::markDone(Step step) {
  auto block = live(step);
  if (!block || !allocator_->block(*block).waits) {
    differs({}, Cause::kNotLive, true);
    return false;
  }
  allocator_->markDone(*block);
  return true;
}

}  // namespace tidegauge::replay
