#include "readers/recording/tables/event_rows.h"

#include <algorithm>

#include "model/block_size.h"
#include "model/call_words.h"
#include "model/ledger/ledger.h"

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

EventPlace& EventRows::placeOf(uint64_t place) {
  if (place >= places_.size()) places_.resize(place + place / 2 + 1);
  EventPlace& it = places_[place];
  if (place < marked_.places) marked_.changed_places.emplace_back(place, it);
  if (!it.is_used) it.first_row = rows_.size();
  it.is_used = true;
  return it;
}

void EventRows::setDevice(uint64_t place, int32_t device) {
  EventPlace& it = placeOf(place);
  if (it.device != device) noteChange(it.first_row);  // the next row, if none names it yet
  it.device = device;
}

// `stream`: of the first block.
void EventRows::setBlocks(uint64_t place, uint64_t stream) {
  EventPlace& it = placeOf(place);
  if (it.has_blocks) return;
  noteChange(it.first_row);
  it.has_blocks = true;
  it.stream = stream;
}

EventRow& EventRows::rowAt(size_t row) {
  if (row < marked_.rows) marked_.changed_rows.emplace_back(row, rows_[row]);
  noteChange(row);
  return rows_[row];
}

void EventRows::mark() { marked_ = {rows_.size(), places_.size(), now_, {}, {}}; }

void EventRows::rollBack() {
  rows_.resize(marked_.rows);
  // The newest change first: the oldest has the values of mark().
  for (size_t i = marked_.changed_rows.size(); i-- > 0;) {
    noteChange(marked_.changed_rows[i].first);
    rows_[marked_.changed_rows[i].first] = marked_.changed_rows[i].second;
  }
  places_.resize(marked_.places);
  for (size_t i = marked_.changed_places.size(); i-- > 0;) {
    const auto& [place, before] = marked_.changed_places[i];
    bool is_same =
        places_[place].device == before.device && places_[place].has_blocks == before.has_blocks;
    if (!is_same) noteChange(places_[place].first_row);
    places_[place] = before;
  }
  now_ = std::move(marked_.now);
  marked_ = {};
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
    now_.issues.add({.kind = IssueKind::kAllocOverLive, .bytes = effect.size_bytes});
  }
  bool moves = effect.what == What::kReserved || effect.what == What::kReturned;
  if (moves && model::isDeviceMemory(effect.kind)) now_.unanswered.clear();
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
      now_.blocks.erase(effect.address);
      return;
    }
    case What::kFailure:
      onFailure(effect);
      return;
    case What::kAnswered:
      onAnswered(effect);
      return;
    case What::kPlaced:
      setDevice(effect.place, effect.device);
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
    now_.saw_older |= effect.cause == model::Cause::kMissed;
    return;
  }
  now_.has_managed |= effect.kind == MemoryKind::kManaged;
  EventRow row = rowOf(effect, Action::kSegmentAlloc);
  setDevice(effect.place, row.device);
  if (effect.of_framework) setBlocks(effect.place, effect.stream);
  add(row, Action::kSegmentAlloc, false);
  add(row, Action::kAlloc, true);
  now_.segments[effect.address] = {effect.address + effect.size_bytes,
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
  now_.segments.erase(effect.address);
}

void EventRows::onMapped(const Effect& effect) {
  if (effect.is_alias) return;  // another process's, or a multicast: charged elsewhere
  EventRow row = rowOf(effect, Action::kSegmentMap);
  if (placeOf(effect.place).device == kNotKnown) setDevice(effect.place, row.device);
  if (effect.of_framework) setBlocks(effect.place, effect.stream);
  add(row, Action::kSegmentMap, false);
  add(row, Action::kAlloc, true);
  now_.segments[effect.address] = {
      effect.address + effect.size_bytes, effect.place, 0, effect.stack, row.device, true};
}

// Perhaps only a part of the mapping: then the rest becomes an allocation from here on.
void EventRows::onUnmapped(const Effect& effect) {
  if (effect.is_alias) return;
  EventRow row = rowOf(effect, Action::kSegmentUnmap);
  auto at = now_.segments.upper_bound(effect.address);
  bool known = at != now_.segments.begin() && std::prev(at)->second.end > effect.address;
  if (!known) {
    now_.saw_older = true;
    add(row, Action::kSegmentUnmap, false);
    return;
  }
  --at;
  uint64_t begin = at->first;
  LiveSegment segment = at->second;
  now_.segments.erase(at);
  EventRow whole = row;
  whole.address = begin;
  whole.size_bytes = segment.end - begin;
  addFrees(whole, true);
  add(row, Action::kSegmentUnmap, false);
  auto keep = [&](uint64_t from, uint64_t to) {
    if (from >= to) return;
    LiveSegment rest = segment;
    rest.end = to;
    now_.segments[from] = rest;
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
  if (effect.place != 0) {
    setBlocks(effect.place, effect.stream);
  } else {
    now_.has_outside_blocks = true;
  }
  add(rowOf(effect, Action::kAlloc), Action::kAlloc, false);
  // Like PyTorch: a remainder of up to 1 MiB in a large segment stays with the block.
  LiveBlock block{effect.size_bytes, model::roundedBytes(effect.size_bytes, {}), effect.stack};
  auto next = now_.blocks.upper_bound(effect.address);
  auto segment = now_.segments.upper_bound(effect.address);
  if (segment != now_.segments.begin()) {
    --segment;
    uint64_t end = segment->second.end;
    bool inside = end > effect.address;
    bool is_large = !segment->second.is_expandable && end - segment->first > kSmallSegmentBytes;
    if (next != now_.blocks.end()) end = std::min(end, next->first);
    uint64_t room = inside ? end - effect.address : 0;
    bool takes_rest = inside && is_large && room >= block.block_bytes &&
                      room - block.block_bytes <= model::kUnsplitRemainderBytes;
    if (takes_rest) block.block_bytes = room;
  }
  now_.blocks[effect.address] = block;
}

// An allocator that is refused memory frees its cache and asks again, twice if necessary. Only the
// last refusal is an out-of-memory event, and none is if the memory was granted in the end.
const EventRow* EventRows::settleRefusal(const Effect& effect) {
  auto last = now_.last_refusal.find(effect.thread);
  if (last == now_.last_refusal.end()) return nullptr;
  size_t row = last->second;
  now_.last_refusal.erase(last);
  if (rows_[row].size_bytes != effect.size_bytes ||
      effect.time_ns - rows_[row].time_ns > kLatestRetryNs)
    return nullptr;
  EventRow& oom = rowAt(row);
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
  now_.last_refusal[effect.thread] = rows_.size() - 1;
  if (now_.unanswered.size() < kMaxUnanswered) now_.unanswered.push_back(rows_.size() - 1);
}

// PyTorch queries the free memory once it gives up, for its message: that is the amount at the
// refusal. A later refusal of the same size is of another request: a program may catch several.
void EventRows::onAnswered(const Effect& effect) {
  now_.last_refusal.erase(effect.thread);
  if (effect.device >= 0) now_.total_bytes[effect.device] = effect.size_bytes;
  for (size_t row : now_.unanswered) {
    const EventRow& oom = rows_[row];
    bool same = oom.device == effect.device && effect.device >= 0;
    if (same && effect.time_ns - oom.time_ns <= kLatestAnswerNs)
      rowAt(row).address = effect.address;
  }
  std::erase_if(now_.unanswered, [&](size_t row) { return rows_[row].device == effect.device; });
}

void EventRows::onOlderFreed(const Effect& effect) {
  if (model::isHostMemory(effect.kind)) return;
  now_.saw_older = true;
  EventRow row = rowOf(effect, Action::kSegmentFree);
  row.is_older_free = true;
  now_.has_older_frees = true;
  add(row, Action::kSegmentFree, false);
}

}  // namespace tidegauge::readers::recording
