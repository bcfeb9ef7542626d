#include "replay/verifier.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "replay/rebuild.h"

namespace tidegauge::replay {
namespace {

using model::Action;
using model::Step;

constexpr uint64_t kMaxRequestBytes = uint64_t{1} << 60;
// Bounds the work to continue after differences, and to try interpretations, each unit some 10 ns:
// a few seconds. Examining a row of the trace or copying a block is one unit; rebuilding a block is
// many.
constexpr uint64_t kMaxRebuildWork = 200'000'000;
constexpr uint64_t kRebuiltBlockWork = 50;
// Free blocks skipped in searches, each up to 100 ns. No real trace that was tried takes a
// thirtieth of it.
constexpr uint64_t kMaxVerifySearched = 100'000'000;
constexpr uint64_t kInVainWork = 500;  // work repeated after a difference, such as a flush

bool isDriverTraffic(Action action) {
  return action == Action::kSegmentAlloc || action == Action::kSegmentFree ||
         action == Action::kSegmentMap || action == Action::kSegmentUnmap;
}

// Returns the addresses of the trace. If the device's size is known, everything that fits succeeds.
// If it is not, or does not explain the trace (others held a part of it), requests succeed if they
// did in the trace.
class RecordedDriver final : public Driver {
 public:
  RecordedDriver(const Verifier& verifier, std::optional<uint64_t> capacity_bytes,
                 uint64_t used_bytes)
      : verifier_(&verifier), capacity_bytes_(capacity_bytes), used_bytes_(used_bytes) {}

  std::unique_ptr<Driver> clone() const override { return std::make_unique<RecordedDriver>(*this); }
  std::optional<uint64_t> malloc(uint64_t bytes) override {
    if (!gives(bytes)) return std::nullopt;
    return verifier_->addressNow();
  }
  void free(uint64_t, uint64_t bytes) override { used_bytes_ -= bytes; }
  uint64_t reserve(uint64_t) override { return verifier_->addressNow(); }
  void unreserve(uint64_t, uint64_t) override {}
  bool map(uint64_t, uint64_t bytes) override { return gives(bytes); }
  void unmap(uint64_t bytes) override { used_bytes_ -= bytes; }
  uint64_t freeBytes() const override {
    return verifier_->addressNow();
  }  // for an oom: its address

 private:
  bool gives(uint64_t bytes) {
    if (capacity_bytes_ && used_bytes_ + bytes > *capacity_bytes_) return false;
    bool must_match = !capacity_bytes_ || verifier_->refusesAsRecorded();
    if (must_match && !verifier_->givesNow()) return false;
    used_bytes_ += bytes;
    return true;
  }

  const Verifier* verifier_;
  std::optional<uint64_t> capacity_bytes_;
  uint64_t used_bytes_;
};

// The least that the device must have had.
uint64_t mostReserved(const Tape& tape) {
  const model::Pieces& pieces = tape.trace().pieces;
  std::vector<std::pair<Step, int64_t>> changes;
  for (size_t i = tape.device().piece_begin; i < tape.device().piece_end; ++i) {
    auto bytes = static_cast<int64_t>(pieces.size_bytes[i]);
    changes.emplace_back(pieces.first_step[i], bytes);
    changes.emplace_back(pieces.last_step[i], -bytes);
  }
  std::ranges::sort(changes);  // at one step, ends first
  int64_t now_bytes = 0, most_bytes = 0;
  for (auto [step, bytes] : changes)
    most_bytes = std::max(most_bytes, now_bytes = wrappingSum(now_bytes, bytes));
  return static_cast<uint64_t>(most_bytes);
}

}  // namespace

Verifier::Verifier(const Tape& tape, const Settings& settings,
                   std::optional<uint64_t> capacity_bytes, Refusals refusals)
    : tape_(tape),
      settings_(settings),
      capacity_bytes_(capacity_bytes),
      refusals_(refusals),
      most_reserved_bytes_(mostReserved(tape)) {
  result_.settings = settings;
}

Verification Verifier::run(uint64_t most_divergences) {
  continueAfter(0);
  result_.began_empty = allocator_->byAddress().empty();
  while (at_ < tape_.steps() && rebuild_work_ <= kMaxRebuildWork &&
         searched_before_ + allocator_->searched() <= kMaxVerifySearched &&
         result_.divergences <= most_divergences)
    step();
  result_.checked_until = at_;
  result_.unchecked = tape_.steps() - at_;
  result_.stats = allocator_->stats();
  if (at_ == tape_.steps()) {
    compareFinalState();
  } else {
    collectRest();
  }
  result_.program.names = tape_.names() + failed_requests_;
  return std::move(result_);
}

// ---- comparing ---------------------------------------------------------------------------------

bool Verifier::givesNow() const {
  if (difference_ || at_ >= tape_.steps()) return false;
  if (refusals_ == Refusals::kNone) return true;
  Action action = tape_.action(at_);
  return action == Action::kSegmentAlloc || action == Action::kSegmentMap;
}

bool Verifier::matches(const Entry& entry) const {
  if (at_ >= tape_.steps()) return false;
  Action action = tape_.action(at_);
  if (action == Action::kFree && entry.action == Action::kFreeCompleted) action = entry.action;
  bool same_size = tape_.bytes(at_) == entry.bytes;
  bool same_address = tape_.address(at_) == entry.address;
  if (action == Action::kOom) same_address |= tape_.address(at_) == model::kUnknownBytes;
  return action == entry.action && same_address && same_size && tape_.stream(at_) == entry.stream &&
         (!tape_.hasOwners() || tape_.owner(at_) == entry.owner);
}

void Verifier::wrote(const Entry& entry) {
  if (difference_) rebuild_work_ += kInVainWork;
  if (is_muted_ || difference_) return;
  // Files rewritten by viewers have one event for both.
  if (entry.action == Action::kFreeRequested && at_ < tape_.steps() &&
      tape_.action(at_) == Action::kFree && tape_.address(at_) == entry.address)
    return;
  if (matches(entry)) {
    ++at_;
    return;
  }
  Cause cause = Cause::kUnknown;
  if (at_ < tape_.steps()) {
    Action recorded = tape_.action(at_);
    bool is_segment = entry.action == Action::kSegmentAlloc || entry.action == Action::kSegmentMap;
    if (entry.action == Action::kAlloc && recorded == Action::kAlloc) {
      cause = result_.began_empty ? Cause::kPlacement : Cause::kOlderState;
    } else if (is_segment && recorded == entry.action && tape_.bytes(at_) != entry.bytes) {
      cause = Cause::kSettings;
    } else if (isDriverTraffic(entry.action) || isDriverTraffic(recorded)) {
      cause = Cause::kDriverTraffic;
    }
  }
  differs(entry, cause);
}

void Verifier::differs(const Entry& entry, Cause cause, bool wrote_nothing) {
  if (difference_) return;
  difference_ = Divergence{at_, entry, wrote_nothing, cause};
}

// Uses the order of the completions in the trace.
void Verifier::arrange(std::span<BlockId> blocks) {
  if (is_muted_ || blocks.size() < 2) return;
  std::unordered_map<uint64_t, size_t> places;  // by address: position in the trace
  for (Step step = at_; step < tape_.steps() && places.size() < blocks.size() &&
                        tape_.action(step) == Action::kFreeCompleted;
       ++step)
    places.try_emplace(tape_.address(step), places.size());
  auto placeOf = [&](BlockId id) {
    auto it = places.find(allocator_->block(id).address);
    return it == places.end() ? SIZE_MAX : it->second;
  };
  std::ranges::stable_sort(blocks, {}, placeOf);
}

// ---- walking ------------------------------------------------------------------------------------

void Verifier::step() {
  Step begin = at_;
  difference_.reset();
  switch (tape_.action(at_)) {
    case Action::kFreeRequested:
    case Action::kFree:
      stepFree();
      break;
    case Action::kSnapshot: {
      auto active = static_cast<uint64_t>(allocator_->stats()[Quantity::kActiveBytes].all.current);
      if (tape_.bytes(at_) == model::kUnknownBytes) {
        ++at_;
        return;
      }
      if (tape_.bytes(at_) != active) differs({Action::kSnapshot, 0, active}, Cause::kChecksum);
      ++at_;
      break;
    }
    case Action::kAlloc:
    case Action::kOom:
    case Action::kFreeCompleted:
    case Action::kSegmentAlloc:
    case Action::kSegmentFree:
    case Action::kSegmentMap:
    case Action::kSegmentUnmap:
      stepGroup();
      break;
    default:
      ++at_;
      return;  // not an event of the allocator
  }
  result_.events_checked += at_ - begin;
  if (!difference_) {
    result_.events_exact += at_ - begin;
    return;
  }
  result_.events_exact += std::min(difference_->step, at_) - begin;
  ++result_.divergences;
  if (!result_.first_divergence) result_.first_divergence = difference_;
  difference_.reset();
  continueAfter(at_);
}

std::optional<BlockId> Verifier::live(Step step) const {
  uint32_t name = tape_.name(step);
  if (name == kNoName || !live_[name].valid()) return std::nullopt;
  if (!allocator_->holds(live_[name], name) ||
      allocator_->block(live_[name]).address != tape_.address(step))
    return std::nullopt;
  return live_[name];
}

bool Verifier::isDeferred(Step step) const {
  return tape_.action(step) != Action::kFree &&
         (step + 1 >= tape_.steps() || tape_.action(step + 1) != Action::kFreeCompleted ||
          tape_.address(step + 1) != tape_.address(step));
}

// The program's remaining requests, which are no longer compared.
void Verifier::collectRest() {
  std::vector<bool> is_released;
  while (at_ < tape_.steps()) {
    Action action = tape_.action(at_);
    if (action == Action::kFreeRequested || action == Action::kFree) {
      bool is_deferred = isDeferred(at_);
      uint32_t name = tape_.name(at_);
      if (name != kNoName) asks(Op::kFree, at_, name).is_shared = is_deferred;
      at_ += is_deferred || action == Action::kFree ? 1 : 2;
      continue;
    }
    Group group = groupHere();
    for (Step step = group.late_end; step < group.end; ++step) {
      OwnerIndex owner = tape_.owner(step);
      bool gives_back =
          tape_.action(step) == Action::kSegmentFree || tape_.action(step) == Action::kSegmentUnmap;
      if (!gives_back || owner == 0) continue;
      if (is_released.size() <= owner) is_released.resize(size_t{owner} + 1);
      if (!is_released[owner]) asks(Op::kReleasePool, step).owner = owner;
      is_released[owner] = true;
    }
    if (group.has_request) {
      if (OwnerIndex owner = tape_.owner(group.end); owner < is_released.size())
        is_released[owner] = false;  // an owner that is allocated from is in use
      ask(group, group.late_end);
      if (tape_.action(group.end) == Action::kOom) ++failed_requests_;
      at_ = group.end + 1;
      continue;
    }
    askDone(group.begin, group.late_end);
    if (group.late_end < group.end) asks(Op::kEmptyCache, group.late_end);
    at_ = std::max(at_ + 1, group.end);
  }
}

void Verifier::stepFree() {
  Step step = at_;
  bool is_deferred = isDeferred(step);
  uint32_t name = tape_.name(step);
  Step end = is_deferred || tape_.action(step) == Action::kFree ? step + 1 : step + 2;
  if (name != kNoName) asks(Op::kFree, step, name).is_shared = is_deferred;
  auto block = live(step);
  if (!block || allocator_->block(*block).waits) {
    differs({}, Cause::kNotLive, true);
  } else {
    allocator_->free(*block, is_deferred);
  }
  at_ = end;
}

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

void Verifier::noticeReleasedPools(const Group& group) {
  for (Step step = group.late_end; step < group.end; ++step) {
    Action action = tape_.action(step);
    if (action != Action::kSegmentFree && action != Action::kSegmentUnmap) continue;
    OwnerIndex owner = tape_.owner(step);
    // Memory is returned from a private pool only if it is unused; nothing else shows that.
    if (owner == 0 || !allocator_->knows(owner) || allocator_->isReleased(owner)) continue;
    allocator_->releasePool(owner);
    asks(Op::kReleasePool, step).owner = owner;
  }
}

void Verifier::stepGroup() {
  Group group = groupHere();
  noticeReleasedPools(group);
  bool ok = false;
  if (!group.has_request) {
    ok = group.late_end < group.end ? flush() : complete(group.end);
  } else {
    ok = attempt(group);
  }
  if (ok) return;
  at_ = std::max(at_, group.has_request ? group.end + 1 : group.end);
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
    // A driver that had as much before would hardly refuse, so the program emptied the cache
    // itself.
    bool is_full = wouldBeFull(group);
    if (!is_full) {
      if (flush()) return true;
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
    if (is_full) {
      if (flush()) return true;
      restore(false);
    }
    if (capacity_bytes_) {
      refuses_as_recorded_ = true;
      bool is_explained = malloc(group, group.late_end);
      refuses_as_recorded_ = false;
      if (is_explained) return true;
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
  uint64_t bytes = std::min(tape_.bytes(group.end), kMaxRequestBytes);
  uint64_t segment_bytes = settings_.segmentBytes(settings_.roundedBytes(bytes));
  return reservedNow() + segment_bytes > most_reserved_bytes_;
}

uint64_t Verifier::reservedNow() const {
  return static_cast<uint64_t>(allocator_->stats()[Quantity::kReservedBytes].all.current);
}

Request& Verifier::asks(Op op, Step step, uint32_t name) {
  Request request;
  request.op = op;
  request.step = step;
  request.name = name;
  return result_.program.requests.emplace_back(request);
}

void Verifier::askDone(Step begin, Step end) {
  for (Step step = begin; step < end; ++step)
    if (tape_.action(step) == Action::kFreeCompleted && tape_.name(step) != kNoName)
      asks(Op::kDone, step, tape_.name(step));
}

void Verifier::ask(const Group& group, Step ready_end) {
  askDone(group.begin, ready_end);
  bool failed = tape_.action(group.end) == Action::kOom;
  uint32_t name = failed ? tape_.names() + failed_requests_ : tape_.name(group.end);
  uint64_t bytes = tape_.bytes(group.end);
  if (bytes > 0 && bytes <= kMaxRequestBytes && name != kNoName) {
    Request& request = asks(Op::kMalloc, group.end, name);
    request.failed = failed;
    request.bytes = bytes;
    request.stream = tape_.stream(group.end);
    request.owner = tape_.owner(group.end);
  }
  // Those that its retry waited for.
  askDone(ready_end, group.end);
}

// One request with all its driver traffic; its completions until `ready_end` were due when it
// began.
bool Verifier::malloc(const Group& group, Step ready_end) {
  uint64_t bytes = tape_.bytes(group.end);
  if (bytes == 0 || bytes > kMaxRequestBytes) {
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
  if (allocator_->stats().retries > retries_before)
    noteRefusal(group, failed ? reservedNow() : reserved_before);
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

void Verifier::continueAfter(Step next) {
  is_muted_ = true;
  std::optional<Allocator> before = std::move(allocator_);
  if (before) searched_before_ += before->searched();
  driver_ = std::make_unique<RecordedDriver>(*this, capacity_bytes_, 0);
  allocator_.emplace(settings_, capacity_bytes_.value_or(kUnknownDeviceBytes), *driver_, *this);
  uint64_t left_out = rebuild(tape_, next, before ? &*before : nullptr, *allocator_, live_);
  driver_ = std::make_unique<RecordedDriver>(*this, capacity_bytes_, reservedNow());
  allocator_->rebind(*driver_, *this);
  if (next == 0) result_.left_out_at_start = left_out;
  uint64_t pieces = tape_.device().piece_end - tape_.device().piece_begin;
  if (before)
    rebuild_work_ += tape_.names() + pieces + 1000 + kRebuiltBlockWork * allocator_->size();
  is_muted_ = false;
}

void Verifier::compareFinalState() {
  const model::Device& device = tape_.device();
  result_.final_segments = device.final_segment_end - device.final_segment_begin;
  result_.final_differences = finalDifferences(tape_, *allocator_);
}

}  // namespace tidegauge::replay
