#include "model/lives/blocks/block_lives.h"

#include <algorithm>

#include "model/columns/fetch.h"
#include "model/lives/blocks/gaps.h"

namespace tidegauge::model {

// Columns grow by this number of events, while what is filled in is in the cache.
constexpr size_t kAtOnce = 256;

// The place of an address is fetched this number of events ahead. Fetching those of many events at
// once is slower: the processor waits for some 16 at a time, and does nothing else meanwhile. Rows
// are not fetched: most are young, and near each other.
constexpr size_t kAhead = 32;

void BlockLives::begin(const Device& device, size_t allocs) {
  device_ = &device;
  // Columns are allocated in their exact size: at ten million events, a doubling vector would
  // briefly hold twice the memory.
  size_t room = allocs + allocs / 16 + 64;
  rows_.address.reserve(room);
  rows_.requested_bytes.reserve(room);
  rows_.block_bytes.reserve(room);
  rows_.segment.reserve(room);
  rows_.stack.reserve(room);
  rows_.first_step.reserve(room);
  rows_.last_step.reserve(room);
  rows_.free_requested_step.reserve(room);
  rows_.version.reserve(room);
  rows_.stream.reserve(room);
  rows_.pool.reserve(room);
  rows_.provenance.reserve(room);
  rows_.flags.reserve(room);
}

// The rows of some events' allocations, with the values that most of them keep: filled while they
// are in the cache.
void BlockLives::makeRoom(const EventRows& events, size_t begin, size_t count) {
  const Action* action = events.action + begin;
  size_t births = static_cast<size_t>(std::count(action, action + count, Action::kAlloc));
  size_t size = used_ + births;
  pages_.upTo(size, rows_.address, rows_.requested_bytes, rows_.stack, rows_.first_step,
              rows_.last_step, rows_.free_requested_step, rows_.version, rows_.stream, rows_.pool,
              rows_.provenance, rows_.flags);
  rows_.address.resize(size);
  rows_.requested_bytes.resize(size);
  rows_.stack.resize(size);
  rows_.first_step.resize(size);
  rows_.last_step.resize(size, kNoStep);
  rows_.free_requested_step.resize(size, kNoStep);
  rows_.version.resize(size);
  rows_.stream.resize(size);
  rows_.pool.resize(size);
  rows_.provenance.resize(size, Provenance::kTraced);
  rows_.flags.resize(size, kAllocSeen | kBlockInferred);
  if (events.category.present || !rows_.category.empty()) rows_.category.resize(size);
}

void BlockLives::addRows(const EventRows& events) {
  for (size_t begin = 0, end = 0; begin < events.count; begin = end) {
    end = std::min(begin + kAtOnce, events.count);
    makeRoom(events, begin, end - begin);
    addSome(events, begin, end);
  }
}

void BlockLives::addSome(const EventRows& events, size_t begin, size_t end) {
  places_.makeRoom(end - begin);
  for (size_t i = begin; i < end; ++i) {
    fetchAhead(events, i);
    uint64_t address = events.address[i];
    switch (events.action[i]) {
      case Action::kAlloc:
        onAlloc(places_.at(address), events, i);
        break;
      case Action::kFreeRequested: {
        Place& place = places_.at(address);
        if (i + 1 < end && isWholeFree(place, events, i)) {
          onWholeFree(place, events, i);
          fetchAhead(events, ++i);
        } else {
          onFree(place, events, i, /*requested=*/true, /*completed=*/false);
        }
        break;
      }
      case Action::kFreeCompleted:
        onFree(places_.at(address), events, i, /*requested=*/false, /*completed=*/true);
        break;
      case Action::kFree:
        onFree(places_.at(address), events, i, /*requested=*/true, /*completed=*/true);
        break;
      case Action::kAnnotate:
        if (const Place* place = places_.find(address); place != nullptr && place->isLive())
          events.subject[i] = place->block;
        break;
      default:
        break;
    }
  }
}

inline void BlockLives::fetchAhead(const EventRows& events, size_t i) const {
  places_.fetchPlace(events.address[std::min(i + kAhead, events.count - 1)]);
}

inline void BlockLives::onAlloc(Place& place, const EventRows& events, size_t i) {
  auto step = static_cast<Step>(events.begin + i);
  if (place.isLive()) replaceLive(place, step);
  size_t row = used_++;
  place.block = static_cast<BlockNumber>(row);
  ++place.turns;
  events.subject[i] = place.block;
  rows_.address[row] = place.address;
  rows_.requested_bytes[row] = events.size_bytes[i];
  rows_.stack[row] = events.stack[i];
  rows_.first_step[row] = step;
  rows_.version[row] = place.ended();
  rows_.stream[row] = events.stream[i];
  if (events.pool.present) rows_.pool[row] = events.pool[i];
  if (events.category.present) rows_.category[row] = events.category[i];
}

// An alloc at a live address: the free of that block was not recorded, or only half of it.
void BlockLives::replaceLive(Place& place, Step step) {
  if (requestOf(place) != kNoStep) {
    endAtRequest(place);
    return;
  }
  size_t row = place.block;  // blocks without an alloc are known by a free_requested
  if (endAtGap(place, step)) return;
  rows_.last_step[row] = step;
  rows_.provenance[row] = Provenance::kLost;
  noted_.push_back({IssueKind::kAllocOverLive, step, rows_.requested_bytes[row]});
  endLife(place);
}

// A live block of which an event at `step` shows that it ended before: in the gap between, if there
// is one.
bool BlockLives::endAtGap(Place& place, Step step) {
  size_t row = place.block;
  Step gap = lastGap(*device_, rows_.first_step[row] + 1, step);
  if (gap == kNoStep) return false;
  rows_.last_step[row] = gap;
  rows_.provenance[row] = Provenance::kLost;
  endLife(place);
  return true;
}

inline void BlockLives::endLife(Place& place) { ++place.turns; }

// The free was requested, its completion was not recorded, and another life has begun since.
void BlockLives::endAtRequest(Place& place) {
  (place.block & kOlderBit ? older_[place.block & ~kOlderBit].last_step
                           : rows_.last_step[place.block]) = requestOf(place);
  endLife(place);
}

// Of the live block: when its free was requested, kNoStep if it was not.
Step BlockLives::requestOf(const Place& place) const {
  return place.block & kOlderBit ? older_[place.block & ~kOlderBit].free_requested_step
                                 : rows_.free_requested_step[place.block];
}

// Where no block is live: when the last one ended, kNoStep if there was none.
Step BlockLives::lastEnd(const Place& place) const {
  if (place.block == kNoBlock) return kNoStep;
  return place.block & kOlderBit ? older_[place.block & ~kOlderBit].last_step
                                 : rows_.last_step[place.block];
}

inline bool BlockLives::isSameSize(const Place& place, uint64_t bytes) const {
  return rows_.requested_bytes[place.block] == bytes;
}

// Mostly the two events of a free stand side by side and contradict nothing: then it is one step
// here, as onFree() for one and the other.
inline bool BlockLives::isWholeFree(const Place& place, const EventRows& events, size_t i) const {
  return events.action[i + 1] == Action::kFreeCompleted && events.address[i + 1] == place.address &&
         place.isLive() && (place.block & kOlderBit) == 0 &&
         rows_.free_requested_step[place.block] == kNoStep &&
         isSameSize(place, events.size_bytes[i]) && isSameSize(place, events.size_bytes[i + 1]);
}

inline void BlockLives::onWholeFree(Place& place, const EventRows& events, size_t i) {
  auto step = static_cast<Step>(events.begin + i);
  BlockNumber row = place.block;
  events.subject[i] = events.subject[i + 1] = row;
  rows_.free_requested_step[row] = step;
  rows_.last_step[row] = step + 1;
  rows_.flags[row] |= kFreeCompletedSeen;
  endLife(place);
}

void BlockLives::onFree(Place& place, const EventRows& events, size_t i, bool requested,
                        bool completed) {
  auto step = static_cast<Step>(events.begin + i);
  // A block is freed once, so there was another life in between.
  if (requested && place.isLive() && requestOf(place) != kNoStep) endAtRequest(place);
  if (place.isLive() && (place.block & kOlderBit) == 0 && !device_->gaps.empty() &&
      !isSameSize(place, events.size_bytes[i])) {
    endAtGap(place, step);  // another block, allocated in the gap
  }
  if (!place.isLive()) addOlder(place, step, events, i);
  events.subject[i] = place.block;
  if (place.block & kOlderBit) {
    OlderBlock& older = older_[place.block & ~kOlderBit];
    if (requested) older.free_requested_step = step;
    if (completed) {
      older.last_step = step;
      older.flags |= kFreeCompletedSeen;
    }
  } else {
    if (!isSameSize(place, events.size_bytes[i]))
      noted_.push_back({IssueKind::kSizeMismatch, step, Noted::kNone});
    if (requested) rows_.free_requested_step[place.block] = step;
    if (completed) {
      rows_.last_step[place.block] = step;
      rows_.flags[place.block] |= kFreeCompletedSeen;
    }
  }
  if (completed) endLife(place);
}

void BlockLives::addOlder(Place& place, Step step, const EventRows& events, size_t i) {
  OlderBlock older;
  older.address = events.address[i];
  older.requested_bytes = events.size_bytes[i];
  older.stack = events.stack[i];
  older.last_step = kNoStep;
  older.version = place.ended();
  older.stream = events.stream[i];
  if (events.pool.present) older.pool = events.pool[i];
  older.flags = kBlockInferred | kStackIsOfFree;
  if (events.category.present) older.category = events.category[i];
  Step last_end = lastEnd(place);
  const CarriedAllocation* carried = last_end == kNoStep ? findCarried(older.address) : nullptr;
  if (carried != nullptr) {
    older.stack = carried->stack;
    older.flags = kBlockInferred;
  } else if (last_end != kNoStep) {
    Step gap = firstGap(*device_, last_end, step);
    older.first_step = gap == kNoStep ? last_end : gap;
    older.provenance = Provenance::kLost;
    if (gap == kNoStep) noted_.push_back({IssueKind::kFreeAgain, step, older.requested_bytes});
  } else {
    noted_.push_back({IssueKind::kFreeWithoutAlloc, step, older.requested_bytes});
  }
  place.block = kOlderBit | static_cast<uint32_t>(older_.size());
  ++place.turns;
  older_.push_back(older);
  older_seen_.push_back(step);
}

const CarriedAllocation* BlockLives::findCarried(uint64_t address) const {
  CarriedAllocation key{device_->ordinal, address, {}};
  auto at = std::lower_bound(carried_.begin(), carried_.end(), key);
  bool found = at != carried_.end() && at->device == key.device && at->address == address;
  return found ? &*at : nullptr;
}

}  // namespace tidegauge::model
