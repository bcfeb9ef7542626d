#include "readers/recording/tables/finished_rows.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "readers/recording/tables/older_segments.h"

namespace tidegauge::readers::recording {
namespace {

// Each device may be unknown; the host does not count.
int32_t lowerOf(int32_t a, int32_t b) {
  if (b < 0) return a;
  return a == kNotKnown || b < a ? b : a;
}

}  // namespace

using model::Action;
using model::IssueKind;

FinishedRows::FinishedRows(const EventRows& from, State state)
    : from_(from),
      state_(std::move(state)),
      segments_(from.now().segments),
      saw_older_(from.now().saw_older) {
  findFallback();
}

std::vector<size_t> FinishedRows::inOrder() const {
  std::vector<size_t> order(devices().size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return static_cast<uint32_t>(devices()[a].device) < static_cast<uint32_t>(devices()[b].device);
  });
  return order;
}

size_t FinishedRows::indexOf(int32_t device) {
  size_t index = 0;
  while (index < devices().size() && devices()[index].device != device) ++index;
  if (index == devices().size()) state_.devices.push_back({.device = device});
  return index;
}

const EventPlace* FinishedRows::find(uint64_t place) const {
  const std::vector<EventPlace>& places = from_.places();
  if (place < places.size()) return &places[place];
  place -= places.size();
  return place < older_places_.size() ? &older_places_[place] : nullptr;
}

int32_t FinishedRows::statedDevice(const EventRow& row) const {
  const EventPlace* place = row.place == 0 ? nullptr : find(row.place);
  return place == nullptr || place->device == kNotKnown ? row.device : place->device;
}

// Memory on an unknown device is most likely on the only known one.
void FinishedRows::findFallback() {
  int32_t lowest = state_.lowest_device;
  for (size_t row = state_.rows; row < from_.rows().size() && lowest != 0; ++row)
    lowest = lowerOf(lowest, statedDevice(from_.rows()[row]));
  fallback_is_known_ = lowest != kNotKnown;
  fallback_ = fallback_is_known_ ? lowest : 0;
  if (state_.rows == 0) state_.fallback = fallback_;
}

void FinishedRows::complete(EventRow& row, const EventPlace* place) const {
  if (place != nullptr && row.place != 0 && place->device != kNotKnown) row.device = place->device;
  if (row.device == kNotKnown) row.device = fallback_;
  if (row.action >= Action::kSegmentAlloc && place != nullptr && place->has_blocks)
    row.stream = place->stream;
}

bool FinishedRows::stays(const EventRow& row, const EventPlace* place) {
  bool has_blocks = place != nullptr && place->has_blocks;
  return !row.is_retried && !(row.is_provisional && has_blocks);
}

bool FinishedRows::finish(const EventRow& from, EventRow& row) {
  if (state_.lowest_device != 0)
    state_.lowest_device = lowerOf(state_.lowest_device, statedDevice(from));
  const EventPlace* place = find(from.place);
  if (!stays(from, place)) return false;
  row = from;
  complete(row, place);
  if (from.device == kNotKnown && statedDevice(from) == kNotKnown) noteGuess(row);
  bool by_allocator = row.action <= Action::kFree && !row.is_provisional;
  if (by_allocator && row.device != state_.last_allocator) {
    state_.last_allocator = row.device;
    state_.with_allocator.insert(row.device);
  }
  return true;
}

template <class Take>
void FinishedRows::forEachOf(int32_t device, const Take& take) const {
  for (const EventRow& from : has_own_ ? own_ : from_.rows()) {
    if (from.is_carried) continue;
    EventRow row = from;
    if (!has_own_) {
      const EventPlace* place = find(row.place);
      if (row.is_older_free || !stays(row, place)) continue;
      complete(row, place);
    }
    if (row.device == device) take(row);
  }
}

void FinishedRows::noteGuess(const EventRow& row) {
  bool gives = row.action == Action::kSegmentAlloc || row.action == Action::kSegmentMap;
  // A free alone is in no figure of a device that has others.
  state_.has_guesses |= gives || row.action == Action::kOom || !fallback_is_known_;
  if (!gives) return;
  state_.guesses.add(
      {.kind = IssueKind::kDeviceUnknown, .device = fallback_, .bytes = row.size_bytes});
}

void FinishedRows::copyRows() {
  has_own_ = true;
  for (const EventRow& from : from_.rows()) {
    EventRow row;
    if (finish(from, row)) own_.push_back(row);
  }
  takeOlderSegments();
}

// Segments older than the recording, as far as blocks show them.
void FinishedRows::takeOlderSegments() {
  OlderSegments all = settleOlderSegments(own_);
  older_segments_ = all.ended;
  older_bytes_ = all.ended_bytes;
  for (const OlderSegment& older : all.to_the_end) {
    auto next = segments_.lower_bound(older.begin);
    bool taken = (next != segments_.end() && next->first < older.end) ||
                 (next != segments_.begin() && std::prev(next)->second.end > older.begin);
    if (taken) continue;
    if (older_places_.empty() && from_.places().empty()) older_places_.push_back({});  // 0: none
    uint64_t place = from_.places().size() + older_places_.size();
    older_places_.push_back({older.device, true, older.stream});
    LiveSegment segment{older.end, place, older.stream, model::kNoStackOfCall, older.device, false};
    segment.is_older = true;
    segments_[older.begin] = segment;
    ++older_segments_;
    older_bytes_ += older.end - older.begin;
  }
  saw_older_ |= older_segments_ > 0;
}

bool FinishedRows::hasBlocks(uint64_t place) const {
  const EventPlace* it = find(place);
  return it != nullptr && it->has_blocks;
}

int32_t FinishedRows::deviceOf(const LiveSegment& segment) const {
  const EventPlace* place = find(segment.place);
  int32_t device = place == nullptr ? kNotKnown : place->device;
  if (device == kNotKnown) device = segment.device;
  return device == kNotKnown ? fallback_ : device;
}

model::Known FinishedRows::knownOf(int32_t device) const {
  if (device != fallback_ || !state_.has_guesses) return model::Known::kAll;
  return fallback_is_known_ ? model::Known::kInPart : model::Known::kNothing;
}

uint64_t FinishedRows::streamOf(const LiveSegment& segment) const {
  return hasBlocks(segment.place) ? find(segment.place)->stream : segment.stream;
}

uint64_t FinishedRows::totalBytesOf(int32_t device) const {
  const std::map<int32_t, uint64_t>& all = from_.now().total_bytes;
  auto at = all.find(device);
  return at == all.end() ? 0 : at->second;
}

Move FinishedRows::moveOf(const EventRow& row, bool& of_block) {
  bool comes = row.action == Action::kSegmentAlloc || row.action == Action::kSegmentMap;
  of_block = row.action <= Action::kFree && !row.is_provisional;
  bool of_segment = row.action >= Action::kSegmentAlloc && row.action <= Action::kSegmentUnmap;
  // Blocks are taken and returned inside the program, in the order that is shown.
  int64_t other_ns = of_segment ? row.other_ns : row.time_ns;
  return {row.time_ns, other_ns, row.address, row.size_bytes, comes};
}

model::PeakSlack FinishedRows::peakSlackOf(int32_t device) const {
  auto of = std::find_if(devices().begin(), devices().end(),
                         [&](const OfDevice& it) { return it.device == device; });
  if (of == devices().end() || !of->has_overlap) return {.device = device};
  auto forEachMove = [&](const auto& take) {
    forEachOf(device, [&](const EventRow& row) {
      bool of_block = false;
      Move move = moveOf(row, of_block);
      bool of_segment = row.action >= Action::kSegmentAlloc && row.action <= Action::kSegmentUnmap;
      if (of_segment || of_block) take(row, move, of_block);
    });
  };
  bool with_blocks = hasAllocator(device);
  MovedMemory reserved;
  forEachMove([&](const EventRow&, const Move& move, bool of_block) {
    if (!of_block) reserved.add(move);
  });
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

}  // namespace tidegauge::readers::recording
