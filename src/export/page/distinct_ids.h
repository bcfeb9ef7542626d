// Collects ids that occur repeatedly, each once.
//
//   3 1 3 1 7   →   1 3 7
//
// Cost: O(n log n) for n ids in any parts; memory: twice the distinct ones, or the least. The
// collection is sorted only when it has doubled: sorted after every part, a million distinct ids
// would be sorted again for a few new ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tidegauge::exporting {

class DistinctIds {
 public:
  static constexpr size_t kLeast = 1'000'000;

  // It is first sorted when it holds `least` ids.
  explicit DistinctIds(size_t least = kLeast) : least_(least), sort_at_(least) {}

  void add(uint32_t id) {
    ids_.push_back(id);
    if (ids_.size() < sort_at_) return;
    sort();
    sort_at_ = std::max(least_, 2 * ids_.size());
  }
  // Ascending. Empties the collection.
  std::vector<uint32_t> take() {
    sort();
    sort_at_ = least_;
    return std::exchange(ids_, {});
  }
  // How often it was sorted.
  size_t sorts() const { return sorts_; }

 private:
  void sort() {
    std::sort(ids_.begin(), ids_.end());
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
    ++sorts_;
  }

  std::vector<uint32_t> ids_;
  size_t least_;
  size_t sort_at_;
  size_t sorts_ = 0;
};

}  // namespace tidegauge::exporting
