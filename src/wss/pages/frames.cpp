#include "wss/pages/frames.h"

#include <algorithm>

namespace tidegauge::wss {

namespace {

// Sorted: of equal frames the last is the touched one, if any is.
std::vector<Frame> sorted(const std::vector<std::span<const Frame>>& lists) {
  std::vector<Frame> all;
  size_t count = 0;
  for (std::span<const Frame> list : lists) count += list.size();
  all.reserve(count);
  for (std::span<const Frame> list : lists) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

Once onceOf(const std::vector<std::span<const Frame>>& lists) {
  std::vector<Frame> all = sorted(lists);
  Once once;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i + 1 < all.size() && all[i + 1] / 2 == all[i] / 2) continue;
    once.rss += kPage;
    if (all[i] % 2 == 1) once.referenced += kPage;
  }
  return once;
}

std::vector<PageBits> byFrame(const std::vector<std::span<const Frame>>& lists) {
  std::vector<PageBits> tables;
  for (Frame frame : sorted(lists)) {
    uint64_t number = frame / 2, begin = number / PageBits::kPages * PageBits::kPages * kPage;
    if (tables.empty() || tables.back().table != begin) tables.push_back({.table = begin});
    size_t page = number % PageBits::kPages;
    uint64_t bit = uint64_t{1} << page % 64;
    tables.back().there[page / 64] |= bit;
    if (frame % 2 == 1) tables.back().touched[page / 64] |= bit;
  }
  return tables;
}

}  // namespace tidegauge::wss
