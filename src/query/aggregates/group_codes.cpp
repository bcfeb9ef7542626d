#include "query/aggregates/group_codes.h"

#include <algorithm>
#include <bit>

namespace tidegauge::query {

uint32_t GroupCodes::ofLarge(int64_t key) {
  if (key == kNull) {
    if (null_ == kNone) null_ = next_++;
    return null_;
  }
  if (key >= 0 && static_cast<uint64_t>(key) < kMaxTable) {
    table_.resize(std::bit_ceil(static_cast<size_t>(key) + 1), kNone);
    return of(key);
  }
  if (key == last_key_) return last_code_;
  auto [entry, is_new] = large_.try_emplace(key, next_);
  if (is_new) ++next_;
  last_key_ = key;
  last_code_ = entry->second;
  return last_code_;
}

}  // namespace tidegauge::query
