// MovedMemory: how far the order of concurrent calls may change the peak of a device.
//
//   thread 1   |---- free 4 MiB ----------|      shown, in this order: −4, +3: the peak is 4 MiB
//   thread 2        |- allocate 3 MiB -|         but if the free took effect last, it was 7 MiB
//
//   MovedMemory memory;
//   memory.add({.time_ns = 5, .other_ns = 3, .address = 0x7f00, .size_bytes = 4, .comes = true}); …
//   memory.slack()   → 3 MiB
//
// A call changes something at a moment between its entry and its return; nothing more is known. So
// of all orders that are possible, the peak is lowest if all memory comes as late and goes as
// early as it can, and highest if it comes as early and goes as late. slack() is how far the shown
// peak is from the farther one. Why that is so: docs/decisions/0030-bounds-of-the-peak.md.
//
// Cost: O(n log n), about n if few calls overlap; 32 bytes per move while it is computed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tidegauge::readers::recording {

struct Move {
  int64_t time_ns = 0;   // where it is shown
  int64_t other_ns = 0;  // it happened between this and time_ns
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  bool comes = false;  // else it goes

  int64_t earliest_ns() const { return std::min(time_ns, other_ns); }
  int64_t latest_ns() const { return std::max(time_ns, other_ns); }
};

// The highest sum if bytes are added and subtracted at these times.
uint64_t highestLevel(std::vector<std::pair<int64_t, uint64_t>> comes,
                      std::vector<std::pair<int64_t, uint64_t>> goes);

class MovedMemory {
 public:
  MovedMemory() : freed_(kPlaces) {}

  void add(const Move& move);  // in the order that is shown
  // How much higher or lower than the shown peak the true one may be.
  uint64_t slack() const;
  bool hasOverlap() const { return has_overlap_; }  // else the order is known, and slack() is 0

 private:
  using Change = std::pair<int64_t, uint64_t>;  // time, bytes
  // Memory that went: `at` is its place in goes_latest_.
  struct Freed {
    uint64_t address = 0, size_bytes = 0;
    int64_t earliest_ns = 0;
    size_t at = 0;
  };
  static constexpr size_t kPlaces = 1024;

  // The moment from which on `move` may be there, at the place of what `freed` frees.
  int64_t handedOver(const Freed& freed, const Move& move);

  std::vector<Change> comes_earliest_, comes_latest_, goes_earliest_, goes_latest_;
  // By address: the newest that went there. What falls out makes the slack larger, never wrong.
  std::vector<Freed> freed_;
  int64_t newest_ns_ = INT64_MIN;  // the latest end so far
  bool has_overlap_ = false;
  int64_t level_bytes_ = 0, shown_peak_bytes_ = 0;  // what was there before counts as 0
};

// The same if these moves are only a part of what the shown level is made of: `moves` are all of
// it, in the order that is shown, and `isPart` says which count. An upper bound: the most that was
// coming or going at once, leaving out what happened while nothing else did.
template <class IsPart>
uint64_t mostInFlight(const std::vector<Move>& moves, const IsPart& isPart) {
  std::vector<int64_t> next_ns(moves.size() + 1, INT64_MAX);  // the first beginning of the rest
  for (size_t i = moves.size(); i-- > 0;)
    next_ns[i] = std::min(next_ns[i + 1], moves[i].earliest_ns());
  std::vector<std::pair<int64_t, uint64_t>> begins, ends;
  int64_t newest_ns = INT64_MIN;
  for (size_t i = 0; i < moves.size(); ++i) {
    const Move& move = moves[i];
    bool is_alone = newest_ns <= move.earliest_ns() && next_ns[i + 1] >= move.latest_ns();
    newest_ns = std::max(newest_ns, move.latest_ns());
    if (is_alone || !isPart(i)) continue;
    begins.emplace_back(move.earliest_ns(), move.size_bytes);
    ends.emplace_back(move.latest_ns(), move.size_bytes);
  }
  return highestLevel(std::move(begins), std::move(ends));
}

}  // namespace tidegauge::readers::recording
