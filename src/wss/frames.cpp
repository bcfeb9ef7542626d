#include "wss/frames.h"

#include <algorithm>

#include "wss/page_bits.h"

namespace tidegauge::wss {

Once onceOf(const std::vector<std::span<const Frame>>& lists) {
  std::vector<Frame> all;
  size_t count = 0;
  for (std::span<const Frame> list : lists) count += list.size();
  all.reserve(count);
  for (std::span<const Frame> list : lists) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  Once once;
  for (size_t i = 0; i < all.size(); ++i) {
    // The last of equal frames is the touched one, if any is.
    if (i + 1 < all.size() && all[i + 1] / 2 == all[i] / 2) continue;
    once.rss += kPage;
    if (all[i] % 2 == 1) once.referenced += kPage;
  }
  return once;
}

}  // namespace tidegauge::wss
