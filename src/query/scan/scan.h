// Reads the rows of a table that pass the filters, a batch at a time.
//
//   narrow   sorted columns and devices cut the rows to a few ranges (binary search)
//   top      ORDER BY … LIMIT keeps the first rows of one pass, unless the order is known already
//   look up  a scan that is repeated with another value uses an order index instead of all rows
//   filter   the rest, 512 rows at a time, column by column
//   read     keys(column) are filled on the first use of a column
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "query/scan/deadline.h"
#include "query/scan/order_index.h"
#include "query/scan/row_filter.h"
#include "query/scan/table.h"

namespace tidegauge::query {

class Scan {
 public:
  static constexpr size_t kBatch = 512;

  struct Request {
    const Table* table = nullptr;
    std::vector<RowFilter> filters;  // at most one per column
    std::vector<SortColumn> order;   // empty: row order
    bool backward = false;
    const std::vector<uint32_t>* only = nullptr;  // these rows of the table, if set
    size_t top = 0;              // only the first rows of `order` are needed; 0: all
    bool earlier_first = false;  // of equal rows, also if `backward`
    bool again = false;          // the same query ran before, with other values
  };

  Scan(OrderCache& orders, const Deadline& deadline) : orders_(orders), deadline_(deadline) {}

  // The rows of a request without `only` and `order`, each range within one device. Absent if
  // filters decide row by row.
  std::optional<std::vector<RowRange>> rangesOf(Request request);
  // Afterwards the scan is on its first row, or at the end.
  void start(Request request);
  void next() {
    if (++at_ >= count_) loadBatch();
  }
  bool atEnd() const { return at_ >= count_; }
  // Column by column instead: the batch that the scan is on, and the next.
  size_t batchSize() const { return count_; }
  const int64_t* batchKeys(size_t column) { return keys(column); }
  void nextBatch() { loadBatch(); }
  bool timedOut() const { return timed_out_; }  // it ended because time was up
  Row row() const { return rows_[at_]; }
  int64_t key(size_t column) { return keys(column)[at_]; }
  const Table& table() const { return *request_.table; }

 private:
  const int64_t* keys(size_t column);
  void loadBatch();
  size_t takeRows();
  void narrowRanges();
  void narrowByFilter(const RowFilter& filter, RowRange* range) const;
  void splitByList(const RowFilter& filter);
  bool isSettled(const RowFilter& filter) const;
  bool refusesAll() const;
  bool lookUp();
  // False if time was up.
  bool startInOrder();
  bool startAtTop();
  void useOrder(std::shared_ptr<const RowOrder> order, OrderRange range);
  Row rowsInRanges() const;

  OrderCache& orders_;
  const Deadline& deadline_;
  Request request_;
  // The source of rows: ranges of the table, or a part of a list of rows.
  std::vector<RowRange> ranges_;
  std::shared_ptr<const RowOrder> order_;  // keeps list_ alive
  const uint32_t* list_ = nullptr;
  size_t list_begin_ = 0, list_end_ = 0;

  std::array<Row, kBatch> rows_;
  size_t at_ = 0, count_ = 0;
  bool timed_out_ = false;
  struct Keys {
    bool filled = false;
    std::array<int64_t, kBatch> values;
  };
  std::vector<std::unique_ptr<Keys>> keys_;  // by column; filled on first use
};

}  // namespace tidegauge::query
