// Recognises statements that count, sum and compare the columns of one table:
//
//   SELECT action AS a, sum(size_bytes) / 2 FROM events WHERE step < 9
//   GROUP BY action HAVING count(*) > 1 ORDER BY 2
//
//   table events · conditions step < 9 · groups action · calls sum(size_bytes), count(*)
//   rest  SELECT action AS a, (+"tg#0") / 2 FROM events WHERE (+"tg#1") > 1 ORDER BY 2
//
// `rest` is to be asked over a table with one row per group, with the values of the calls as
// columns "tg#0", "tg#1". SQLite knows everything in it. A plus makes such a column an expression,
// as the call was.
//
// Understood are: one table; calls of count, sum, total, avg, min and max with a column or *;
// conditions that compare a column with constants, joined by AND; groups that are columns.
// Everything else is declined: then SQLite answers the whole statement.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/scan/row_filter.h"
#include "query/scan/table.h"

namespace tidegauge::query {

enum class Aggregate : uint8_t { kCount, kSum, kTotal, kAverage, kMin, kMax };

struct AggregateCall {
  Aggregate what = Aggregate::kCount;
  int column = -1;  // −1: count(*)
  bool operator==(const AggregateCall&) const = default;
};

// column IS NULL, column = value, column IN (value, value): constants are text of SQL.
struct Condition {
  int column = 0;
  Test test = Test::kEqual;
  std::vector<std::string> values{};
};

struct AggregateStatement {
  const Table* table = nullptr;
  std::vector<Condition> conditions;  // all must hold
  bool grouped = false;               // else there is one row, also of an empty table
  std::vector<int> groups;            // columns
  std::vector<AggregateCall> calls;
  std::string rest;
  // The directions of ORDER BY, if it has as many terms as GROUP BY: SQLite sorts groups in them.
  std::vector<bool> descending;
};

std::string nameOfCall(size_t index);  // "tg#0"
bool isNameOfCall(std::string_view name);

// The statement must be one that SQLite has accepted.
std::optional<AggregateStatement> recognise(std::string_view sql, const std::vector<Table>& tables);

}  // namespace tidegauge::query
