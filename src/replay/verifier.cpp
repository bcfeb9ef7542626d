#include "replay/verifier.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "replay/rebuild.h"
#include "replay/recorded_driver.h"

namespace tidegauge::replay {
namespace {

using model::Action;
using model::Step;

// Bounds the work to continue after differences, and to try interpretations, each unit some 10 ns:
// a few seconds. Examining a row of the trace or copying a block is one unit; rebuilding a block is
// many.
constexpr uint64_t kMaxRebuildWork = 200'000'000;
constexpr uint64_t kRebuiltBlockWork = 50;
// Free blocks skipped in searches, each up to 100 ns. No real trace that was tried takes a
// thirtieth of it.
constexpr uint64_t kMaxVerifySearched = 100'000'000;
constexpr uint64_t kInVainWork = 500;  // work repeated after a difference, such as a flush

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
  countRelease();
  if (!result_.first_divergence) result_.first_divergence = difference_;
  difference_.reset();
  continueAfter(at_);
}

void Verifier::countRelease() {
  auto releases = [](Action action) {
    return action == Action::kSegmentFree || action == Action::kSegmentUnmap ||
           action == Action::kOom;
  };
  bool recorded = difference_->step < tape_.steps() && releases(tape_.action(difference_->step));
  bool replayed = !difference_->wrote_nothing && releases(difference_->replayed.action);
  result_.released_too_early += replayed && !recorded;
  result_.released_too_late += recorded && !replayed;
}

std::optional<BlockId> Verifier::live(Step step) const {
  uint32_t name = tape_.name(step);
  if (name == kNoName || !live_[name].valid()) return std::nullopt;
  if (!allocator_->holds(live_[name], name) ||
      allocator_->block(live_[name]).address != tape_.address(step))
    return std::nullopt;
  return live_[name];
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

uint64_t Verifier::reservedNow() const {
  return static_cast<uint64_t>(allocator_->stats()[Quantity::kReservedBytes].all.current);
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
