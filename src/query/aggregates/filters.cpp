#include "query/aggregates/filters.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "query/scan/like.h"

namespace tidegauge::query {
namespace {

struct FreeValue {
  void operator()(sqlite3_value* value) const { sqlite3_value_free(value); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Value = std::unique_ptr<sqlite3_value, FreeValue>;

Value valueOf(sqlite3* db, const std::string& constant) {
  std::string sql = "SELECT " + constant;
  sqlite3_stmt* raw = nullptr;
  int rc = sqlite3_prepare_v2(db, sql.c_str(), static_cast<int>(sql.size()), &raw, nullptr);
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement(raw);
  if (rc != SQLITE_OK || sqlite3_step(raw) != SQLITE_ROW) return nullptr;
  return Value(sqlite3_value_dup(sqlite3_column_value(raw, 0)));
}

bool isText(sqlite3_value* value) { return sqlite3_value_type(value) == SQLITE_TEXT; }
bool isNull(sqlite3_value* value) { return sqlite3_value_type(value) == SQLITE_NULL; }

// The same tests that a scan decides for SQLite (plan.cpp).
bool isDecided(const Column& column, Test test, sqlite3_value* value) {
  switch (test) {
    case Test::kEqual:
    case Test::kNotEqual:
    case Test::kOneOf:
      if (column.isText()) return column.encode && (isText(value) || isNull(value));
      return !column.isReal();
    case Test::kLike: {
      if (!column.like || !isText(value)) return false;
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
      return isQuickPattern({text, static_cast<size_t>(sqlite3_value_bytes(value))});
    }
    default:
      return !column.isText() && !column.isReal();
  }
}

class Filters {
 public:
  Filters(const AggregateStatement& statement, sqlite3* db) : table_(*statement.table), db_(db) {}

  bool add(const Condition& condition) {
    const Column& column = table_.columns[static_cast<size_t>(condition.column)];
    if (condition.test == Test::kOneOf) return addList(condition, column);
    if (condition.values.empty()) {  // IS NULL, IS NOT NULL
      narrow(of(condition.column), column, condition.test, nullptr, likes_);
      return true;
    }
    Value value = valueOf(db_, condition.values.front());
    if (value == nullptr || !isDecided(column, condition.test, value.get())) return false;
    narrow(of(condition.column), column, condition.test, value.get(), likes_);
    return true;
  }
  std::vector<RowFilter> take() { return std::move(filters_); }

 private:
  RowFilter& of(int column) {
    auto found = std::find_if(filters_.begin(), filters_.end(),
                              [&](const RowFilter& filter) { return filter.column == column; });
    if (found != filters_.end()) return *found;
    RowFilter& filter = filters_.emplace_back();
    filter.column = column;
    return filter;
  }

  bool addList(const Condition& condition, const Column& column) {
    std::vector<int64_t> keys;
    for (const std::string& constant : condition.values) {
      Value value = valueOf(db_, constant);
      if (value == nullptr || !isDecided(column, Test::kOneOf, value.get())) return false;
      RowFilter one;
      narrow(one, column, Test::kEqual, value.get(), likes_);
      if (!one.isEmpty()) keys.push_back(one.low);
    }
    of(condition.column).keepOnly(std::move(keys));
    return true;
  }

  const Table& table_;
  sqlite3* db_;
  LikeMemory likes_;
  std::vector<RowFilter> filters_;
};

}  // namespace

std::optional<std::vector<RowFilter>> filtersOf(const AggregateStatement& statement, sqlite3* db) {
  Filters filters(statement, db);
  for (const Condition& condition : statement.conditions) {
    if (!filters.add(condition)) return std::nullopt;
  }
  std::vector<RowFilter> result = filters.take();
  for (const KeyRange& range : statement.table->within) {  // the part of the file that is asked
    auto filter = std::find_if(result.begin(), result.end(), [&](const RowFilter& known) {
      return known.column == range.column;
    });
    if (filter == result.end()) {
      filter = result.emplace(result.end());
      filter->column = range.column;
    }
    filter->atLeast(range.low);
    filter->atMost(range.high);
  }
  return result;
}

}  // namespace tidegauge::query
