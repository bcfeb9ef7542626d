#include "readers/recording/tables/older_segments.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <iterator>
#include <map>

#include "model/block_size.h"

namespace tidegauge::readers::recording {
namespace {

using model::Action;

// A block in no known segment.
struct Life {
  OlderSegment place;
  size_t last_row = SIZE_MAX;  // the row that frees it
};

// Disjoint ranges of addresses.
class Ranges {
 public:
  bool meets(uint64_t begin, uint64_t end) const {
    auto at = ranges_.lower_bound(end);
    return at != ranges_.begin() && std::prev(at)->second.end > begin;
  }
  // Addresses that an existing range covers are skipped.
  void add(OlderSegment range) {
    auto next = ranges_.upper_bound(range.begin);
    if (next != ranges_.begin()) {
      OlderSegment& before = std::prev(next)->second;
      if (before.end >= range.begin && before.device == range.device) {
        before.end = std::max(before.end, range.end);
        range = before;
        ranges_.erase(std::prev(next));
      } else {
        range.begin = std::max(range.begin, before.end);
      }
    }
    while (next != ranges_.end() && next->first <= range.end) {
      if (next->second.device != range.device) {
        range.end = std::min(range.end, next->first);
        break;
      }
      range.end = std::max(range.end, next->second.end);
      next = ranges_.erase(next);
    }
    if (range.begin < range.end) ranges_.emplace(range.begin, range);
  }
  // Removes the parts inside [begin, end) and passes each to `f`.
  template <class F>
  void take(uint64_t begin, uint64_t end, F&& f) {
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second.end > begin) --at;
    while (at != ranges_.end() && at->first < end) {
      OlderSegment whole = at->second;
      at = ranges_.erase(at);
      OlderSegment part = whole;
      part.begin = std::max(whole.begin, begin);
      part.end = std::min(whole.end, end);
      f(part);
      if (whole.end > end) {
        OlderSegment right = whole;
        right.begin = end;
        ranges_.emplace(right.begin, right);
      }
      if (whole.begin < begin) {
        whole.end = begin;
        ranges_.emplace(whole.begin, whole);
      }
    }
  }
  const std::map<uint64_t, OlderSegment>& all() const { return ranges_; }

 private:
  std::map<uint64_t, OlderSegment> ranges_;
};

class Settler {
 public:
  explicit Settler(std::vector<EventRow>& rows) : rows_(rows) {}

  OlderSegments run() {
    findLives();
    if (!lives_.empty()) findEnds();
    writeEnds();
    OlderSegments found;
    for (const auto& [begin, segment] : kept_.all()) found.to_the_end.push_back(segment);
    for (const auto& [row, segment] : ends_) {
      ++found.ended;
      found.ended_bytes += segment.end - segment.begin;
    }
    return found;
  }

 private:
  void findLives() {
    boost::unordered_flat_map<uint64_t, size_t> open;  // by address
    Ranges given;  // allocated while recorded: not older, whatever lies there
    for (size_t i = 0; i < rows_.size(); ++i) {
      const EventRow& row = rows_[i];
      if (row.is_older_free) starts_.push_back(row.address);
      if (row.action == Action::kSegmentAlloc || row.action == Action::kSegmentMap)
        given.add({row.address, row.address + row.size_bytes, 0, 0});
      if (row.place != 0 || row.is_provisional) continue;
      if (row.action == Action::kFreeCompleted) {
        auto at = open.find(row.address);
        if (at == open.end()) continue;
        lives_[at->second].last_row = i;
        open.erase(at);
      } else if (row.action == Action::kAlloc) {
        uint64_t bytes = model::roundedBytes(row.size_bytes, {});
        uint64_t end = bytes > UINT64_MAX - row.address ? UINT64_MAX : row.address + bytes;
        if (given.meets(row.address, end)) continue;
        open[row.address] = lives_.size();
        lives_.push_back({{row.address, end, row.stream, row.device}});
      }
    }
    std::sort(starts_.begin(), starts_.end());
  }

  // Backwards: a range that no later block needs ends with a free.
  void findEnds() {
    Ranges idle;
    for (const Life& life : lives_) idle.add(life.place);
    std::sort(lives_.begin(), lives_.end(),
              [](const Life& a, const Life& b) { return a.last_row > b.last_row; });
    auto keep = [&](const Life& life) {
      idle.take(life.place.begin, life.place.end,
                [&](const OlderSegment& part) { kept_.add(part); });
    };
    auto life = lives_.begin();
    for (; life != lives_.end() && life->last_row == SIZE_MAX; ++life) keep(*life);
    for (size_t i = rows_.size(); i-- > 0;) {
      for (; life != lives_.end() && life->last_row == i; ++life) keep(*life);
      const EventRow& row = rows_[i];
      uint64_t end = row.address + row.size_bytes;
      auto ends_here = [&](const OlderSegment& part) { ends_.emplace_back(i, part); };
      if (row.is_older_free) {
        auto next = std::upper_bound(starts_.begin(), starts_.end(), row.address);
        idle.take(row.address, next == starts_.end() ? UINT64_MAX : *next, ends_here);
      } else if (row.action == Action::kSegmentAlloc || row.action == Action::kSegmentMap) {
        idle.take(row.address, end, ends_here);  // allocated again, so it had been freed before
      } else if (row.action == Action::kSegmentUnmap && row.place == 0) {
        idle.take(row.address, end, [](const OlderSegment&) {});  // the row itself frees it
      }
    }
    std::reverse(ends_.begin(), ends_.end());
  }

  void writeEnds() {
    if (starts_.empty() && ends_.empty()) return;
    std::vector<EventRow> rows;
    rows.reserve(rows_.size() + ends_.size());
    auto end = ends_.begin();
    for (size_t i = 0; i < rows_.size(); ++i) {
      for (; end != ends_.end() && end->first == i; ++end) {
        EventRow row;
        row.time_ns = rows_[i].time_ns;
        row.address = end->second.begin;
        row.size_bytes = end->second.end - end->second.begin;
        row.stream = end->second.stream;
        row.device = end->second.device;
        row.action = Action::kSegmentFree;
        if (rows_[i].is_older_free) row.stack = rows_[i].stack;
        rows.push_back(row);
      }
      if (!rows_[i].is_older_free) rows.push_back(rows_[i]);
    }
    rows_ = std::move(rows);
  }

  std::vector<EventRow>& rows_;
  std::vector<Life> lives_;
  std::vector<uint64_t> starts_;                       // addresses of frees of unknown memory
  std::vector<std::pair<size_t, OlderSegment>> ends_;  // the row that ends it
  Ranges kept_;
};

}  // namespace

OlderSegments settleOlderSegments(std::vector<EventRow>& rows) { return Settler(rows).run(); }

}  // namespace tidegauge::readers::recording
