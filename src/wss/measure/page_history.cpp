#include "wss/measure/page_history.h"

#include <bit>
#include <limits>

#include "wss/pages/page_sums.h"

namespace tidegauge::wss {
namespace {

constexpr uint8_t kOldest = std::numeric_limits<uint8_t>::max();

size_t binOf(uint8_t windows) {
  return windows > PageHistory::kMostWindows ? Rolling::kBins - 1 : std::bit_width(windows - 1U);
}

}  // namespace

Rolling PageHistory::add(std::span<const PageBits> tables) {
  Rolling rolling;
  std::array<uint64_t, kOldest + 1> pages{};  // by age
  std::vector<Ages> next(tables.size());
  size_t old = 0;
  for (size_t t = 0; t < tables.size(); ++t) {
    const PageBits& bits = tables[t];
    while (old < ages_.size() && ages_[old].table < bits.table) ++old;
    if (old < ages_.size() && ages_[old].table == bits.table) next[t] = ages_[old];
    next[t].table = bits.table;
    for (size_t i = 0; i < PageBits::kPages; ++i) {
      uint8_t& age = next[t].of[i];
      if (!PageBits::at(bits.there, i)) {
        age = 0;
        continue;
      }
      if (PageBits::at(bits.touched, i)) {
        (age == 0 ? rolling.first : rolling.again[binOf(age)]) += kPage;
        age = 1;
      } else if (age != 0 && age != kOldest) {
        age += 1;
      }
      pages[age] += 1;
    }
  }
  ages_ = std::move(next);
  rolling.never = pages[0] * kPage;
  uint64_t bytes = 0;
  for (uint32_t age = 1; age <= windows_; ++age) {
    bytes += pages[age] * kPage;
    if (std::has_single_bit(age) || age == windows_) rolling.within.push_back({age, bytes});
  }
  return rolling;
}

}  // namespace tidegauge::wss
