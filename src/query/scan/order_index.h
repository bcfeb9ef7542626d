// Rows of a table in the order of one or more columns: for ORDER BY, GROUP BY and lookups by value.
//
//   size_bytes   512  2048  512  1024        rowsBy(size_bytes) = {0, 2, 3, 1}
//
// Texts are in the order of their bytes, as in SQLite. Stable, so equal values stay in row order.
// Built on first use (a radix sort: about 30 ms per million rows and column, 8 bytes per row while
// it works) and kept, 4 bytes per row, until newer ones need the space.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "query/scan/deadline.h"
#include "query/scan/table.h"

namespace tidegauge::query {

struct SortColumn {
  int column = 0;
  bool descending = false;
  bool operator==(const SortColumn&) const = default;
};

using RowOrder = std::vector<uint32_t>;

// At most 2^32 rows. Absent if time was up.
std::optional<RowOrder> rowsBy(const Table& table, const std::vector<SortColumn>& columns,
                               const Deadline& deadline = {});

// The rows with low ≤ key ≤ high, as a range of an order by that column alone, ascending. Of texts
// it finds one key; else it is the whole order.
struct OrderRange {
  size_t begin = 0;
  size_t end = 0;
};
OrderRange findRange(const Table& table, int column, const RowOrder& order, int64_t low,
                     int64_t high);

// Thread-safe. A caller that needs an order under construction waits for it, at most until its own
// deadline; other orders are available meanwhile.
class OrderCache {
 public:
  explicit OrderCache(size_t budget_bytes = size_t{256} << 20) : budget_bytes_(budget_bytes) {}

  bool has(const Table& table, const std::vector<SortColumn>& columns);
  // nullptr if time was up.
  std::shared_ptr<const RowOrder> get(const Table& table, const std::vector<SortColumn>& columns,
                                      const Deadline& deadline = {});

 private:
  struct Entry {
    const Table* table;
    std::vector<SortColumn> columns;
    std::shared_ptr<const RowOrder> order;  // nullptr while it is being built
  };
  using Entries = std::list<Entry>;
  Entries::iterator find(const Table& table, const std::vector<SortColumn>& columns);
  void dropOldest();

  size_t budget_bytes_;
  std::mutex mutex_;
  std::condition_variable built_;
  Entries entries_;  // the most recently used first
};

}  // namespace tidegauge::query
