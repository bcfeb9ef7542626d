#include "query/aggregates/group_table.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "query/scan/columns.h"

namespace tidegauge::query {
namespace {

ColumnKind kindOf(Aggregate what) {
  bool real = what == Aggregate::kTotal || what == Aggregate::kAverage;
  return real ? ColumnKind::kReal : ColumnKind::kInteger;
}

// As SQLite sorts them: by GROUP BY, in the directions of ORDER BY.
std::vector<size_t> sortedGroups(const AggregateStatement& statement, const Groups& groups) {
  std::vector<size_t> sorted(groups.count);
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  auto isBefore = [&](size_t a, size_t b) {
    for (size_t i = 0; i < statement.groups.size(); ++i) {
      const Column& column = statement.table->columns[static_cast<size_t>(statement.groups[i])];
      int64_t key_a = groups.keys[i][a];
      int64_t key_b = groups.keys[i][b];
      if (key_a == key_b) continue;
      bool descending = !statement.descending.empty() && statement.descending[i];
      return (compareValues(column, key_a, key_b) < 0) != descending;
    }
    return false;
  };
  std::sort(sorted.begin(), sorted.end(), isBefore);
  return sorted;
}

Fill valuesOf(const std::vector<int64_t>& values, const std::vector<size_t>& sorted) {
  auto keys = std::make_shared<std::vector<int64_t>>();
  keys->reserve(sorted.size());
  for (size_t group : sorted) keys->push_back(values[group]);
  return eachRow([keys = std::move(keys)](Row row) { return (*keys)[row]; });
}

}  // namespace

Table groupTable(const AggregateStatement& statement, Groups groups) {
  std::vector<size_t> sorted = sortedGroups(statement, groups);
  Table table;
  table.name = statement.table->name;
  for (const Column& column : statement.table->columns) {
    Column& copy = add(table, column.kind, column.name, column.doc, nulls());
    copy.hidden = column.hidden;
    copy.text = column.text;
    copy.encode = column.encode;
    copy.like = column.like;
    copy.in_row_order_only = true;  // few rows: SQLite sorts them
  }
  for (size_t i = 0; i < statement.groups.size(); ++i) {
    table.columns[static_cast<size_t>(statement.groups[i])].fill = valuesOf(groups.keys[i], sorted);
  }
  for (size_t i = 0; i < statement.calls.size(); ++i) {
    add(table, kindOf(statement.calls[i].what), nameOfCall(i), "",
        valuesOf(groups.values[i], sorted))
        .hidden = true;
  }
  setRows(table, groups.count);
  return table;
}

}  // namespace tidegauge::query
