// The first rows of an order, found in one pass without sorting the others:
//
//   size_bytes   512  2048  512  1024        the first 2, descending: rows 1, 3
//
// Cost: about 2 ns per row and column; 80 bytes per row that is kept.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "query/scan/order_index.h"
#include "query/scan/table.h"

namespace tidegauge::query {

inline constexpr size_t kMaxTopColumns = 4;

class TopRows {
 public:
  struct Order {
    std::vector<SortColumn> columns;  // at most kMaxTopColumns, of numbers
    bool backward = false;            // the whole order from its end
    bool earlier_first = false;       // of equal rows, also if `backward`
  };
  TopRows(Order order, size_t count);

  // A batch of rows; keys(column) are theirs.
  void take(const Row* rows, size_t count, const std::function<const int64_t*(size_t)>& keys);
  RowOrder rows();

 private:
  // Numbers that ascend in the wanted order, one per column, and one of the row.
  using Ranks = std::array<uint64_t, kMaxTopColumns + 1>;
  void dropRest();

  Order order_;
  size_t count_;
  std::array<uint64_t, kMaxTopColumns + 1> flips_{};
  std::vector<Ranks> kept_;
  bool full_ = false;
  Ranks last_{};  // of the first rows so far, if full_
};

}  // namespace tidegauge::query
