#include "readers/recording/tables/peak_slack.h"

namespace tidegauge::readers::recording {
namespace {

using Change = std::pair<int64_t, uint64_t>;

size_t placeOf(uint64_t address, size_t places) {
  return (address * 0x9e3779b97f4a7c15ULL >> 32) % places;
}

void sort(std::vector<Change>& changes) {
  auto before = [](const Change& a, const Change& b) { return a.first < b.first; };
  if (!std::is_sorted(changes.begin(), changes.end(), before))
    std::sort(changes.begin(), changes.end(), before);
}

}  // namespace

// Two calls of different threads never touch in one nanosecond: reading the clock takes longer. So
// what goes when something comes belongs to the same thread, and went before.
uint64_t highestLevel(std::vector<Change> comes, std::vector<Change> goes) {
  sort(comes);
  sort(goes);
  int64_t level = 0, highest = 0;
  size_t gone = 0;
  for (const auto& [time_ns, bytes] : comes) {
    for (; gone < goes.size() && goes[gone].first <= time_ns; ++gone)
      level -= static_cast<int64_t>(goes[gone].second);
    level += static_cast<int64_t>(bytes);
    highest = std::max(highest, level);
  }
  return static_cast<uint64_t>(highest);
}

void MovedMemory::add(const Move& move) {
  auto bytes = static_cast<int64_t>(move.size_bytes);
  has_overlap_ |= move.earliest_ns() < newest_ns_;
  newest_ns_ = std::max(newest_ns_, move.latest_ns());
  Freed& freed = freed_[placeOf(move.address, kPlaces)];
  if (move.comes) {
    int64_t earliest_ns = move.earliest_ns();
    if (freed.size_bytes > 0 && freed.address == move.address) {
      if (goes_latest_[freed.at].first > earliest_ns) earliest_ns = handedOver(freed, move);
      freed = {};
    }
    comes_earliest_.emplace_back(earliest_ns, move.size_bytes);
    comes_latest_.emplace_back(move.latest_ns(), move.size_bytes);
    level_bytes_ += bytes;
    shown_peak_bytes_ = std::max(shown_peak_bytes_, level_bytes_);
    return;
  }
  freed = {move.address, move.size_bytes, move.earliest_ns(), goes_latest_.size()};
  goes_earliest_.emplace_back(move.earliest_ns(), move.size_bytes);
  goes_latest_.emplace_back(move.latest_ns(), move.size_bytes);
  level_bytes_ -= bytes;
}

// The driver hands out an address only after it was freed, so both are never there. Where either
// may be, the larger one counts.
int64_t MovedMemory::handedOver(const Freed& freed, const Move& move) {
  int64_t& gone_ns = goes_latest_[freed.at].first;
  gone_ns = freed.size_bytes < move.size_bytes ? std::max(freed.earliest_ns, move.earliest_ns())
                                               : std::min(gone_ns, move.latest_ns());
  return gone_ns;
}

uint64_t MovedMemory::slack() const {
  if (!has_overlap_) return 0;
  auto shown = static_cast<uint64_t>(shown_peak_bytes_);
  uint64_t highest = highestLevel(comes_earliest_, goes_latest_);
  uint64_t lowest = highestLevel(comes_latest_, goes_earliest_);
  return std::max(
      {uint64_t{0}, highest - std::min(highest, shown), shown - std::min(lowest, shown)});
}

}  // namespace tidegauge::readers::recording
