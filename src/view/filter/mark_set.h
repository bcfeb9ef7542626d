// A set of allocations that the page highlights: the hits of a search or the rows of a query.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tidegauge::view {

class MarkSet {
 public:
  // `rows` of trace.allocations, in any order; rows not below `total` are dropped.
  MarkSet(std::vector<uint32_t> rows, size_t total) : rows_(std::move(rows)) {
    std::sort(rows_.begin(), rows_.end());
    rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
    rows_.erase(std::lower_bound(rows_.begin(), rows_.end(), total), rows_.end());
    bits_.resize((total + 63) / 64);
    for (uint32_t row : rows_) bits_[row / 64] |= uint64_t{1} << (row % 64);
  }

  bool has(uint32_t row) const { return (bits_[row / 64] >> (row % 64) & 1) != 0; }
  const std::vector<uint32_t>& rows() const { return rows_; }  // increasing

 private:
  std::vector<uint32_t> rows_;
  std::vector<uint64_t> bits_;
};

}  // namespace tidegauge::view
