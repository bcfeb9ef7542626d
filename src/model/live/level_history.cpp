#include "model/live/level_history.h"

#include <algorithm>

namespace tidegauge::model {

void LevelHistory::set(int64_t time_ns, uint64_t level) {
  int64_t slot = std::max<int64_t>(0, time_ns) / slot_ns_;
  if (!points_.empty() && slot <= points_.back().slot) {
    Point& point = points_.back();
    point.most = std::max(point.most, level);
    point.last = level;
    return;
  }
  uint64_t entry = points_.empty() ? before_ : points_.back().last;
  points_.push_back({slot, std::max(entry, level), level});
  shorten();
}

void LevelHistory::shorten() {
  auto tooLong = [&] {
    return points_.back().slot - points_.front().slot >= static_cast<int64_t>(kMost);
  };
  if (keeps_ == Keeps::kRecent) {
    while (tooLong()) {
      before_ = points_.front().last;
      points_.pop_front();
    }
    return;
  }
  while (tooLong()) {
    slot_ns_ *= 2;
    size_t kept = 0;
    for (const Point& point : points_) {
      int64_t slot = point.slot / 2;
      if (kept > 0 && points_[kept - 1].slot == slot) {
        Point& merged = points_[kept - 1];
        merged.most = std::max(merged.most, point.most);
        merged.last = point.last;
      } else {
        points_[kept++] = {slot, point.most, point.last};
      }
    }
    points_.resize(kept);
  }
}

void LevelHistory::sample(int64_t from_ns, int64_t to_ns, std::span<uint64_t> most) const {
  if (most.empty()) return;
  // In parts of slots, so that nothing overflows and edges are exact enough for a picture.
  double width = static_cast<double>(to_ns - from_ns) / static_cast<double>(most.size());
  auto beginOf = [&](const Point& p) { return static_cast<double>(p.slot * slot_ns_ - from_ns); };
  auto slot = static_cast<double>(slot_ns_);
  uint64_t carry = before_;
  size_t next = 0;
  for (size_t column = 0; column < most.size(); ++column) {
    double begin = width * static_cast<double>(column);
    double end = width * static_cast<double>(column + 1);
    for (; next < points_.size() && beginOf(points_[next]) + slot <= begin; ++next)
      carry = points_[next].last;
    uint64_t value = carry;
    for (size_t i = next; i < points_.size() && beginOf(points_[i]) < end; ++i)
      value = std::max(value, points_[i].most);
    most[column] = value;
  }
}

}  // namespace tidegauge::model
