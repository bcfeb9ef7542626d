// Numbers the values of a column in the order in which they appear: 7, 9, 7, NULL → 0, 1, 0, 2.
//
// Small values, such as names and ids, are looked up in a table; others in a hash table. About 1
// and 5 ns.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "query/scan/table.h"

namespace tidegauge::query {

class GroupCodes {
 public:
  uint32_t of(int64_t key) {
    if (static_cast<uint64_t>(key) < table_.size()) {
      uint32_t& code = table_[static_cast<size_t>(key)];
      if (code == kNone) code = next_++;
      return code;
    }
    return ofLarge(key);
  }
  uint32_t size() const { return next_; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr size_t kMaxTable = size_t{1} << 20;
  uint32_t ofLarge(int64_t key);

  uint32_t next_ = 0;
  std::vector<uint32_t> table_ = std::vector<uint32_t>(64, kNone);
  std::unordered_map<int64_t, uint32_t> large_;
  uint32_t null_ = kNone;
  int64_t last_key_ = kNull;  // of large_
  uint32_t last_code_ = kNone;
};

}  // namespace tidegauge::query
