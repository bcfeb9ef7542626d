#include "readers/recording/tables/event_rows.h"

#include <algorithm>

#include "model/block_size.h"
#include "model/call_words.h"
#include "model/ledger/ledger.h"
#include "readers/recording/tables/older_segments.h"
#include "readers/recording/tables/peak_slack.h"

namespace tidegauge::readers::recording {
namespace {

using model::Action;
using model::Effect;
using model::IssueKind;
using model::MemoryKind;
using model::What;

// After a refusal. Later, other processes may have taken memory.
constexpr int64_t kLatestAnswerNs = 1'000'000'000;
constexpr size_t kMaxUnanswered = 100;
constexpr int64_t kLatestRetryNs = 1'000'000'000;
constexpr uint64_t kSmallSegmentBytes = uint64_t{2} << 20;

int32_t deviceOf(const Effect& effect) {
  if (model::isHostMemory(effect.kind)) return kHostOrdinal;
  return effect.device >= 0 ? effect.device : kNotKnown;
}

}  // namespace

EventRows::Place& EventRows::placeOf(uint64_t place) {
  if (place >= places_.size()) places_.resize(place + place / 2 + 1);
  return places_[place];
}

EventRow EventRows::rowOf(const Effect& effect, Action action) const {
  EventRow row;
  row.time_ns = effect.time_ns;
  row.address = effect.address;
  row.size_bytes = effect.size_bytes;
  row.stream = effect.stream;
  row.place = effect.place;
  row.stack = effect.stack;
  row.device = recording::deviceOf(effect);
  row.action = action;
  row.is_carried = effect.is_carried;
  row.other_ns = effect.time_ns == effect.latest_ns ? effect.earliest_ns : effect.latest_ns;
  return row;
}

void EventRows::add(EventRow row, Action action, bool is_provisional) {
  row.action = action;
  row.is_provisional = is_provisional;
  rows_.push_back(row);
}

void EventRows::addFrees(EventRow row, bool is_provisional) {
  add(row, Action::kFreeRequested, is_provisional);
  add(row, Action::kFreeCompleted, is_provisional);
}

void EventRows::take(const Effect& effect) {
  // The ledger also reports what the calls do not show; the trace shows both.
  if (effect.cause == model::Cause::kMissed &&
      (effect.what == What::kReturned || effect.what == What::kBlockFreed)) {
    issues_.add({.kind = IssueKind::kAllocOverLive, .bytes = effect.size_bytes});
  }
  bool moves = effect.what == What::kReserved || effect.what == What::kReturned;
  if (moves && model::isDeviceMemory(effect.kind)) unanswered_.clear();
  if (effect.what == What::kReserved && effect.cause == model::Cause::kCall) settleRefusal(effect);
  switch (effect.what) {
    case What::kReserved:
      onReserved(effect);
      return;
    case What::kReturned:
      onReturned(effect);
      return;
    case What::kMapped:
      onMapped(effect);
      return;
    case What::kUnmapped:
      onUnmapped(effect);
      return;
    case What::kBlock:
      onBlock(effect);
      return;
    case What::kBlockFreed: {
      addFrees(rowOf(effect, Action::kFreeRequested), false);
      blocks_.erase(effect.address);
      return;
    }
    case What::kFailure:
      onFailure(effect);
      return;
    case What::kAnswered:
      onAnswered(effect);
      return;
    case What::kPlaced:
      placeOf(effect.place).device = effect.device;
      return;
    case What::kOlderFreed:
      onOlderFreed(effect);
      return;
    case What::kFreeFound:
      return;
  }
}

void EventRows::onReserved(const Effect& effect) {
  if (effect.kind == MemoryKind::kPhysical) {  // it becomes visible when it is mapped
    saw_older_ |= effect.cause == model::Cause::kMissed;
    return;
  }
  has_managed_ |= effect.kind == MemoryKind::kManaged;
  EventRow row = rowOf(effect, Action::kSegmentAlloc);
  Place& place = placeOf(effect.place);
  place.device = row.device;
  if (effect.of_framework && !place.has_blocks) {
    place.has_blocks = true;
    place.stream = effect.stream;
  }
  add(row, Action::kSegmentAlloc, false);
  add(row, Action::kAlloc, true);
  segments_[effect.address] = {effect.address + effect.size_bytes,
                               effect.place,
                               effect.stream,
                               effect.stack,
                               row.device,
                               false};
}

void EventRows::onReturned(const Effect& effect) {
  if (effect.kind == MemoryKind::kPhysical) return;
  EventRow row = rowOf(effect, Action::kSegmentFree);
  addFrees(row, true);
  add(row, Action::kSegmentFree, false);
  segments_.erase(effect.address);
}

void EventRows::onMapped(const Effect& effect) {
  if (effect.is_alias) return;  // another process's, or a multicast: charged elsewhere
  EventRow row = rowOf(effect, Action::kSegmentMap);
  Place& place = placeOf(effect.place);
  if (place.device == kNotKnown) place.device = row.device;
  if (effect.of_framework && !place.has_blocks) {
    place.has_blocks = true;
    place.stream = effect.stream;
  }
  add(row, Action::kSegmentMap, false);
  add(row, Action::kAlloc, true);
  segments_[effect.address] = {
      effect.address + effect.size_bytes, effect.place, 0, effect.stack, row.device, true};
}

// Perhaps only a part of the mapping: then the rest becomes an allocation from here on.
void EventRows::onUnmapped(const Effect& effect) {
  if (effect.is_alias) return;
  EventRow row = rowOf(effect, Action::kSegmentUnmap);
  auto at = segments_.upper_bound(effect.address);
  bool known = at != segments_.begin() && std::prev(at)->second.end > effect.address;
  if (!known) {
    saw_older_ = true;
    add(row, Action::kSegmentUnmap, false);
    return;
  }
  --at;
  uint64_t begin = at->first;
  LiveSegment segment = at->second;
  segments_.erase(at);
  EventRow whole = row;
  whole.address = begin;
  whole.size_bytes = segment.end - begin;
  addFrees(whole, true);
  add(row, Action::kSegmentUnmap, false);
  auto keep = [&](uint64_t from, uint64_t to) {
    if (from >= to) return;
    LiveSegment rest = segment;
    rest.end = to;
    segments_[from] = rest;
    EventRow part = whole;
    part.address = from;
    part.size_bytes = to - from;
    part.stack = segment.stack;
    add(part, Action::kAlloc, true);
  };
  keep(begin, effect.address);
  keep(effect.address + effect.size_bytes, segment.end);
}

void EventRows::onBlock(const Effect& effect) {
  EventRow row = rowOf(effect, Action::kAlloc);
  add(row, Action::kAlloc, false);
  if (effect.place != 0) {
    Place& place = placeOf(effect.place);
    if (!place.has_blocks) place.stream = effect.stream;
    place.has_blocks = true;
  } else {
    has_outside_blocks_ = true;
  }
  // Like PyTorch: a remainder of up to 1 MiB in a large segment stays with the block.
  LiveBlock block{effect.size_bytes, model::roundedBytes(effect.size_bytes, {}), effect.stack};
  auto next = blocks_.upper_bound(effect.address);
  auto segment = segments_.upper_bound(effect.address);
  if (segment != segments_.begin()) {
    --segment;
    uint64_t end = segment->second.end;
    bool inside = end > effect.address;
    bool is_large = !segment->second.is_expandable && end - segment->first > kSmallSegmentBytes;
    if (next != blocks_.end()) end = std::min(end, next->first);
    uint64_t room = inside ? end - effect.address : 0;
    bool takes_rest = inside && is_large && room >= block.block_bytes &&
                      room - block.block_bytes <= model::kUnsplitRemainderBytes;
    if (takes_rest) block.block_bytes = room;
  }
  blocks_[effect.address] = block;
}

// An allocator that is refused memory frees its cache and asks again, twice if necessary. Only the
// last refusal is an out-of-memory event, and none is if the memory was granted in the end.
EventRow* EventRows::settleRefusal(const Effect& effect) {
  auto last = last_refusal_.find(effect.thread);
  if (last == last_refusal_.end()) return nullptr;
  EventRow& oom = rows_[last->second];
  last_refusal_.erase(last);
  if (oom.size_bytes != effect.size_bytes || effect.time_ns - oom.time_ns > kLatestRetryNs)
    return nullptr;
  oom.is_retried = true;
  return &oom;
}

void EventRows::onFailure(const Effect& effect) {
  bool of_memory = model::isDeviceMemory(effect.kind) || effect.kind == MemoryKind::kPinnedHost;
  if (!of_memory || effect.size_bytes == 0 || effect.code != model::kOutOfMemoryCode) return;
  EventRow row = rowOf(effect, Action::kOom);
  row.address = model::kUnknownBytes;  // unless the program asks the driver next
  const EventRow* before = settleRefusal(effect);
  row.refusals = before == nullptr ? 1 : before->refusals + 1;
  row.other_ns = before == nullptr ? row.time_ns : before->other_ns;
  add(row, Action::kOom, false);
  last_refusal_[effect.thread] = rows_.size() - 1;
  if (unanswered_.size() < kMaxUnanswered) unanswered_.push_back(rows_.size() - 1);
}

// PyTorch queries the free memory once it gives up, for its message: that is the amount at the
// refusal. A later refusal of the same size is of another request: a program may catch several.
void EventRows::onAnswered(const Effect& effect) {
  last_refusal_.erase(effect.thread);
  if (effect.device >= 0) total_bytes_[effect.device] = effect.size_bytes;
  for (size_t row : unanswered_) {
    EventRow& oom = rows_[row];
    bool same = oom.device == effect.device && effect.device >= 0;
    if (same && effect.time_ns - oom.time_ns <= kLatestAnswerNs) oom.address = effect.address;
  }
  std::erase_if(unanswered_, [&](size_t row) { return rows_[row].device == effect.device; });
}

uint64_t EventRows::totalBytesOf(int32_t device) const {
  auto at = total_bytes_.find(device);
  return at == total_bytes_.end() ? 0 : at->second;
}

void EventRows::onOlderFreed(const Effect& effect) {
  if (model::isHostMemory(effect.kind)) return;
  saw_older_ = true;
  EventRow row = rowOf(effect, Action::kSegmentFree);
  row.is_older_free = true;
  add(row, Action::kSegmentFree, false);
}

// Segments older than the recording, as far as blocks show them.
void EventRows::takeOlderSegments() {
  if (!has_outside_blocks_) {
    std::erase_if(rows_, [](const EventRow& row) { return row.is_older_free; });
    return;
  }
  OlderSegments all = settleOlderSegments(rows_);
  older_segments_ = all.ended;
  older_bytes_ = all.ended_bytes;
  for (const OlderSegment& older : all.to_the_end) {
    auto next = segments_.lower_bound(older.begin);
    bool taken = (next != segments_.end() && next->first < older.end) ||
                 (next != segments_.begin() && std::prev(next)->second.end > older.begin);
    if (taken) continue;
    uint64_t place = std::max<uint64_t>(1, places_.size());  // 0 is not a place
    places_.resize(place);
    places_.push_back({older.device, true, older.stream});
    LiveSegment segment{older.end, place, older.stream, model::kNoStackOfCall, older.device, false};
    segment.is_older = true;
    segments_[older.begin] = segment;
    ++older_segments_;
    older_bytes_ += older.end - older.begin;
  }
  saw_older_ |= older_segments_ > 0;
}

void EventRows::takeCarried() {
  for (const EventRow& row : rows_)
    if (row.is_carried && row.action == Action::kAlloc) carried_.push_back(row);
  std::erase_if(rows_, [](const EventRow& row) { return row.is_carried; });
}

bool EventRows::hasBlocks(uint64_t place) const {
  return place < places_.size() && places_[place].has_blocks;
}

int32_t EventRows::deviceOf(const LiveSegment& segment) const {
  int32_t device = segment.place < places_.size() ? places_[segment.place].device : kNotKnown;
  if (device == kNotKnown) device = segment.device;
  return device == kNotKnown ? fallback_ : device;
}

model::Known EventRows::knownOf(int32_t device) const {
  if (device != fallback_ || !has_guesses_) return model::Known::kAll;
  return fallback_is_known_ ? model::Known::kInPart : model::Known::kNothing;
}

uint64_t EventRows::streamOf(const LiveSegment& segment) const {
  return hasBlocks(segment.place) ? places_[segment.place].stream : segment.stream;
}

model::PeakSlack EventRows::peakSlackOf(int32_t device) const {
  auto before = [](const EventRow& a, int32_t of) {
    return static_cast<uint32_t>(a.device) < static_cast<uint32_t>(of);
  };
  auto first = std::lower_bound(rows_.begin(), rows_.end(), device, before);
  auto forEachMove = [&](const auto& take) {
    for (auto row = first; row != rows_.end() && row->device == device; ++row) {
      bool comes = row->action == Action::kSegmentAlloc || row->action == Action::kSegmentMap;
      bool goes = row->action == Action::kSegmentFree || row->action == Action::kSegmentUnmap;
      bool of_block = row->action <= Action::kFree && !row->is_provisional;
      int64_t other_ns = of_block ? row->time_ns : row->other_ns;
      if (comes || goes || of_block)
        take(*row, Move{row->time_ns, other_ns, row->address, row->size_bytes, comes}, of_block);
    }
  };
  MovedMemory reserved;
  forEachMove([&](const EventRow&, const Move& move, bool of_block) {
    if (!of_block) reserved.add(move);
  });
  bool with_blocks = hasAllocator(device);
  if (!with_blocks && !reserved.hasOverlap()) return {.device = device};
  std::vector<Move> moves;
  std::vector<bool> is_segment, is_direct;  // …: used by the program itself, without an allocator
  forEachMove([&](const EventRow& row, const Move& move, bool of_block) {
    moves.push_back(move);
    is_segment.push_back(!of_block);
    is_direct.push_back(!of_block && !hasBlocks(row.place));
  });
  auto inFlight = [&](const std::vector<bool>& which) {
    return mostInFlight(moves, [&](size_t i) { return bool{which[i]}; });
  };
  model::PeakSlack slack;
  slack.device = device;
  slack.moment_bytes = inFlight(is_segment);
  // The sizes of older memory are lower bounds, and its rows are not in order of calls.
  slack.reserved_bytes = saw_older_ ? slack.moment_bytes : reserved.slack();
  slack.active_bytes = with_blocks ? inFlight(is_direct) : slack.reserved_bytes;
  return slack;
}

void EventRows::finish() {
  auto deviceOfRow = [&](const EventRow& row) {
    bool known = row.place != 0 && row.place < places_.size();
    int32_t device = known ? places_[row.place].device : kNotKnown;
    return device == kNotKnown ? row.device : device;
  };
  // Memory on an unknown device is most likely on the only known one.
  fallback_ = kNotKnown;
  for (const EventRow& row : rows_) {
    int32_t device = deviceOfRow(row);
    if (device >= 0 && (fallback_ == kNotKnown || device < fallback_)) fallback_ = device;
  }
  fallback_is_known_ = fallback_ != kNotKnown;
  if (!fallback_is_known_) fallback_ = 0;
  std::erase_if(rows_, [&](const EventRow& row) {
    return row.is_retried || (row.is_provisional && hasBlocks(row.place));
  });
  for (EventRow& row : rows_) {
    row.device = deviceOfRow(row);
    if (row.device == kNotKnown) {
      row.device = fallback_;
      bool gives = row.action == Action::kSegmentAlloc || row.action == Action::kSegmentMap;
      // A free alone is in no figure of a device that has others.
      has_guesses_ |= gives || row.action == Action::kOom || !fallback_is_known_;
      if (gives) {
        issues_.add(
            {.kind = IssueKind::kDeviceUnknown, .device = fallback_, .bytes = row.size_bytes});
      }
    }
    if (row.action <= Action::kFree && !row.is_provisional) with_allocator_.insert(row.device);
    if (hasBlocks(row.place) && row.action >= Action::kSegmentAlloc) {
      row.stream = places_[row.place].stream;
    }
  }
  takeOlderSegments();
  takeCarried();
  auto before = [](const EventRow& a, const EventRow& b) {  // the host comes last
    return static_cast<uint32_t>(a.device) < static_cast<uint32_t>(b.device);
  };
  if (!std::is_sorted(rows_.begin(), rows_.end(), before)) {
    std::stable_sort(rows_.begin(), rows_.end(), before);
  }
}

}  // namespace tidegauge::readers::recording
