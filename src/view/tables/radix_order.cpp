#include "view/tables/radix_order.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace tidegauge::view {
namespace {

constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;
constexpr size_t kFew = 1024;

bool isBelow(const OrderKey& a, const OrderKey& b) { return a.value < b.value; }

}  // namespace

void sortByValue(std::vector<OrderKey>& keys) {
  if (std::is_sorted(keys.begin(), keys.end(), isBelow)) return;
  if (keys.size() < kFew) return std::stable_sort(keys.begin(), keys.end(), isBelow);
  auto [least, most] = std::minmax_element(keys.begin(), keys.end(), isBelow);
  uint64_t base = least->value;
  uint64_t span = most->value - base;
  std::vector<OrderKey> sorted(keys.size());
  for (int shift = 0; shift < 64 && span >> shift != 0; shift += kDigitBits) {
    auto digit = [&](const OrderKey& key) {
      return static_cast<size_t>((key.value - base) >> shift) & (kDigits - 1);
    };
    std::array<uint32_t, kDigits> next{};
    for (const OrderKey& key : keys) ++next[digit(key)];
    if (std::find(next.begin(), next.end(), keys.size()) != next.end()) continue;  // all share it
    std::exclusive_scan(next.begin(), next.end(), next.begin(), uint32_t{0});
    for (const OrderKey& key : keys) sorted[next[digit(key)]++] = key;
    keys.swap(sorted);
  }
}

}  // namespace tidegauge::view
