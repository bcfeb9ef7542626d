// The allocations that pass a filter: one bit per row. Others keep their place and are drawn grey;
// nothing moves when a filter changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tidegauge::view {

class FilterSet {
 public:
  explicit FilterSet(size_t rows) : bits_((rows + 63) / 64) {}

  void add(uint64_t row, uint64_t block_bytes) {
    bits_[row / 64] |= uint64_t{1} << (row % 64);
    count_++;
    bytes_ += block_bytes;
  }
  bool has(uint64_t row) const { return (bits_[row / 64] >> (row % 64) & 1) != 0; }
  uint64_t count() const { return count_; }
  uint64_t bytes() const { return bytes_; }  // of their blocks

 private:
  std::vector<uint64_t> bits_;
  uint64_t count_ = 0;
  uint64_t bytes_ = 0;
};

// Without a filter, everything passes.
inline bool passes(const FilterSet* filter, uint64_t row) {
  return filter == nullptr || filter->has(row);
}

}  // namespace tidegauge::view
