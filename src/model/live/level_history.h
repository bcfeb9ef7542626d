// LevelHistory: a level over time in bounded space that never loses a peak.
//
//   history.set(t, 4 MiB); history.set(t + 30 ms, 6 MiB); history.set(t + 70 ms, 2 MiB)
//   slots of 100 ms:  … | most 6 MiB, last 2 MiB | …       a slot without a change takes no space
//
// kRecent drops everything older than kMost slots. kWhole keeps everything: when it becomes too
// long, slots double in length and neighbours merge. Cost: O(1) amortised per set(); 24 bytes per
// slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

namespace tidegauge::model {

class LevelHistory {
 public:
  static constexpr size_t kMost = 600;
  enum class Keeps : uint8_t { kRecent, kWhole };

  LevelHistory(int64_t slot_ns, Keeps keeps) : slot_ns_(slot_ns), keeps_(keeps) {}

  // Sets the level from time_ns on. An earlier time than the last counts in the last one's slot.
  void set(int64_t time_ns, uint64_t level);
  // The maximum in each of most.size() equal parts of [from_ns, to_ns); 0 before the first change.
  void sample(int64_t from_ns, int64_t to_ns, std::span<uint64_t> most) const;

  int64_t slotNs() const { return slot_ns_; }
  size_t slots() const { return points_.size(); }

 private:
  struct Point {
    int64_t slot = 0;   // time / slot_ns_
    uint64_t most = 0;  // including the level at its beginning
    uint64_t last = 0;
  };
  void shorten();

  int64_t slot_ns_;
  Keeps keeps_;
  uint64_t before_ = 0;  // level at the beginning of the first point
  std::deque<Point> points_;
};

}  // namespace tidegauge::model
