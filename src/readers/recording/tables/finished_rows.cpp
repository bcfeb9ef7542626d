#include "readers/recording/tables/finished_rows.h"

#include <algorithm>
#include <iterator>

#include "readers/recording/tables/older_segments.h"
#include "readers/recording/tables/peak_slack.h"

namespace tidegauge::readers::recording {

using model::Action;
using model::IssueKind;

FinishedRows::FinishedRows(const EventRows& from, model::Issues& issues)
    : from_(from), segments_(from.now().segments), saw_older_(from.now().saw_older) {
  findFallback();
  takeRows(issues);
  std::sort(devices_.begin(), devices_.end(), [](const OfDevice& a, const OfDevice& b) {
    return static_cast<uint32_t>(a.device) < static_cast<uint32_t>(b.device);  // the host is last
  });
}

size_t FinishedRows::size() const {
  size_t size = 0;
  for (const OfDevice& device : devices_) size += device.rows.size();
  return size;
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
  fallback_ = kNotKnown;
  for (const EventRow& row : from_.rows()) {
    int32_t device = statedDevice(row);
    if (device >= 0 && (fallback_ == kNotKnown || device < fallback_)) fallback_ = device;
    if (fallback_ == 0) break;  // no device has a lower number
  }
  fallback_is_known_ = fallback_ != kNotKnown;
  if (!fallback_is_known_) fallback_ = 0;
}

bool FinishedRows::stays(const EventRow& row) const {
  return !row.is_retried && !(row.is_provisional && hasBlocks(row.place));
}

EventRow FinishedRows::finished(EventRow row) const {
  row.device = statedDevice(row);
  if (row.device == kNotKnown) row.device = fallback_;
  if (row.action >= Action::kSegmentAlloc && hasBlocks(row.place))
    row.stream = find(row.place)->stream;
  return row;
}

EventRow FinishedRows::at(uint32_t row) const {
  return has_own_ ? own_[row] : finished(from_.rows()[row]);
}

void FinishedRows::noteGuess(const EventRow& row, model::Issues& issues) {
  bool gives = row.action == Action::kSegmentAlloc || row.action == Action::kSegmentMap;
  // A free alone is in no figure of a device that has others.
  has_guesses_ |= gives || row.action == Action::kOom || !fallback_is_known_;
  if (!gives) return;
  issues.add({.kind = IssueKind::kDeviceUnknown, .device = fallback_, .bytes = row.size_bytes});
}

void FinishedRows::takeRows(model::Issues& issues) {
  const std::vector<EventRow>& rows = from_.rows();
  has_own_ = from_.now().has_outside_blocks;
  int32_t last_with_allocator = kNotKnown;
  for (size_t i = 0; i < rows.size(); ++i) {
    const EventRow& row = rows[i];
    if (!stays(row)) continue;
    EventRow finish = finished(row);
    if (statedDevice(row) == kNotKnown) noteGuess(finish, issues);
    bool by_allocator = row.action <= Action::kFree && !row.is_provisional;
    if (by_allocator && finish.device != last_with_allocator) {
      with_allocator_.insert(finish.device);
      last_with_allocator = finish.device;
    }
    if (has_own_) {
      own_.push_back(finish);
    } else if (!row.is_older_free) {
      keep(static_cast<uint32_t>(i), finish);
    }
  }
  if (!has_own_) return;
  takeOlderSegments();
  for (size_t i = 0; i < own_.size(); ++i) keep(static_cast<uint32_t>(i), own_[i]);
}

void FinishedRows::keep(uint32_t index, const EventRow& row) {
  if (row.is_carried) {
    if (row.action == Action::kAlloc) carried_.push_back(row);
    return;
  }
  auto device = std::find_if(devices_.begin(), devices_.end(),
                             [&](const OfDevice& it) { return it.device == row.device; });
  if (device == devices_.end()) device = devices_.insert(device, {row.device, {}});
  device->rows.push_back(index);
  bool is_newest = !streams_.empty() && streams_.back() == row.stream;
  if (!is_newest && known_streams_.insert(row.stream).second) streams_.push_back(row.stream);
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
  if (device != fallback_ || !has_guesses_) return model::Known::kAll;
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

model::PeakSlack FinishedRows::peakSlackOf(int32_t device) const {
  auto of = std::find_if(devices_.begin(), devices_.end(),
                         [&](const OfDevice& it) { return it.device == device; });
  if (of == devices_.end()) return {.device = device};
  auto forEachMove = [&](const auto& take) {
    for (uint32_t index : of->rows) {
      const EventRow row = at(index);
      bool comes = row.action == Action::kSegmentAlloc || row.action == Action::kSegmentMap;
      bool goes = row.action == Action::kSegmentFree || row.action == Action::kSegmentUnmap;
      bool of_block = row.action <= Action::kFree && !row.is_provisional;
      int64_t other_ns = of_block ? row.time_ns : row.other_ns;
      if (comes || goes || of_block)
        take(row, Move{row.time_ns, other_ns, row.address, row.size_bytes, comes}, of_block);
    }
  };
  bool with_blocks = hasAllocator(device);
  MovedMemory reserved;
  int64_t newest_ns = INT64_MIN;
  bool has_overlap = false;
  forEachMove([&](const EventRow&, const Move& move, bool of_block) {
    if (!of_block) reserved.add(move);
    has_overlap |= move.earliest_ns() < newest_ns;
    newest_ns = std::max(newest_ns, move.latest_ns());
  });
  if (!has_overlap || (!with_blocks && !reserved.hasOverlap())) return {.device = device};
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
