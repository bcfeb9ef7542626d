#include "query/scan/top_rows.h"

#include <algorithm>
#include <utility>

namespace tidegauge::query {
namespace {

constexpr size_t kMinKept = 1024;

}  // namespace

TopRows::TopRows(Order order, size_t count) : order_(std::move(order)), count_(count) {
  for (size_t i = 0; i < order_.columns.size(); ++i) {
    bool descending = order_.columns[i].descending != order_.backward;
    flips_[i] = (uint64_t{1} << 63) ^ (descending ? ~uint64_t{0} : 0);
  }
  bool later_first = order_.backward && !order_.earlier_first;
  flips_.back() = later_first ? ~uint64_t{0} : 0;
  kept_.reserve(std::max(2 * count_, kMinKept));
}

void TopRows::take(const Row* rows, size_t count,
                   const std::function<const int64_t*(size_t)>& keys) {
  std::array<const int64_t*, kMaxTopColumns> columns{};
  for (size_t i = 0; i < order_.columns.size(); ++i) {
    columns[i] = keys(static_cast<size_t>(order_.columns[i].column));
  }
  for (size_t row = 0; row < count; ++row) {
    Ranks ranks{};
    ranks[0] = static_cast<uint64_t>(columns[0][row]) ^ flips_[0];
    if (full_ && ranks[0] > last_[0]) continue;
    for (size_t i = 1; i < order_.columns.size(); ++i) {
      ranks[i] = static_cast<uint64_t>(columns[i][row]) ^ flips_[i];
    }
    ranks.back() = rows[row] ^ flips_.back();
    if (full_ && ranks > last_) continue;
    kept_.push_back(ranks);
    if (kept_.size() == kept_.capacity()) dropRest();
  }
}

void TopRows::dropRest() {
  if (kept_.size() < count_) return;
  auto last = kept_.begin() + static_cast<ptrdiff_t>(count_ - 1);
  std::nth_element(kept_.begin(), last, kept_.end());
  last_ = *last;
  full_ = true;
  kept_.resize(count_);
}

RowOrder TopRows::rows() {
  dropRest();
  std::sort(kept_.begin(), kept_.end());
  RowOrder rows;
  rows.reserve(kept_.size());
  for (const Ranks& ranks : kept_) {
    rows.push_back(static_cast<uint32_t>(ranks.back() ^ flips_.back()));
  }
  return rows;
}

}  // namespace tidegauge::query
