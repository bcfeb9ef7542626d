// Which constraints and which order of a query a table handles instead of SQLite, and the cost of
// that (SQLite's xBestIndex). EXPLAIN QUERY PLAN shows the result:
//
//   SELECT * FROM events WHERE step BETWEEN 5 AND 9 AND action = 'alloc'
//   → "step >= ?, step <= ?, action = ?"
#pragma once

#include <sqlite3.h>

#include <string>
#include <vector>

#include "query/scan/order_index.h"
#include "query/scan/row_filter.h"
#include "query/scan/table.h"

namespace tidegauge::query {

struct PlannedTest {
  int column = 0;  // Test::kArgument: index of the function's argument
  Test test = Test::kEqual;
};

struct Plan {
  std::vector<PlannedTest> tests;  // test i gets SQLite's i-th value
  std::vector<SortColumn> order;   // empty: row order
  bool backward = false;           // reads that order from its end
  size_t top = 0;                  // only the first rows of that order are needed; 0: all
  bool earlier_first = false;      // of equal rows, also if `backward`
};

// Fills in SQLite's answer fields, except idxNum. `arguments` = hidden columns before the table's
// own, for arguments. Returns false if an argument is not known yet (SQLite then tries another
// plan).
bool planScan(const Table& table, size_t arguments, sqlite3_index_info* info, Plan* plan);

std::string describe(const Table& table, const Plan& plan);

}  // namespace tidegauge::query
