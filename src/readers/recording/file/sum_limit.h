// SumLimit: keeps the sum of a column below 2^62, so that a sum of any of its rows, in C++ or in
// SQL, cannot overflow. No recorder comes near; a row that would exceed it is invalid.
//
//   SumLimit bytes;
//   if (!bytes.fits(row)) return false;
//   bytes.add(row);
#pragma once

#include <cstdint>

namespace tidegauge::readers::recording {

class SumLimit {
 public:
  bool fits(int64_t value) const { return value >= 0 && value <= kMaxSum - sum_; }
  void add(int64_t value) { sum_ += value; }

 private:
  static constexpr int64_t kMaxSum = int64_t{1} << 62;
  int64_t sum_ = 0;
};

}  // namespace tidegauge::readers::recording
