#include "query/scan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "query/scan/like.h"
#include "query/scan/top_rows.h"

namespace tidegauge::query {
namespace {

constexpr sqlite3_int64 kMaxTop = 10'000;  // rows

class Planner {
 public:
  Planner(const Table& table, size_t arguments, sqlite3_index_info* info, Plan* plan)
      : table_(table),
        arguments_(arguments),
        info_(info),
        plan_(plan),
        rows_(static_cast<double>(table.rows)) {}

  bool run() {
    for (int i = 0; i < info_->nConstraint; ++i) {
      if (!takeConstraint(i)) return false;
    }
    if (arguments_ > 0) rows_ = std::min(rows_, std::sqrt(rows_) * 16);  // live sets are small
    takeOrder();
    bool sorts = !plan_->order.empty();
    info_->estimatedRows = static_cast<sqlite3_int64>(std::max(1.0, rows_));
    info_->estimatedCost = scanCost() + rows_ * (sorts ? 1.5 : 1.0);
    if (unique_) info_->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
    return true;
  }

 private:
  using Constraint = sqlite3_index_info::sqlite3_index_constraint;

  // SQLite counts the arguments of a function as its first columns.
  int ownColumn(int sqlite_column) const { return sqlite_column - static_cast<int>(arguments_); }

  bool takeConstraint(int index) {
    bool others_decided = std::exchange(all_decided_, false);
    if (!takeOne(index)) return false;
    all_decided_ &= others_decided;
    return true;
  }

  bool takeOne(int index) {
    const Constraint& constraint = info_->aConstraint[index];
    int own = ownColumn(constraint.iColumn);
    if (constraint.op == SQLITE_INDEX_CONSTRAINT_LIMIT) return takeLimit(index, limit_);
    if (constraint.op == SQLITE_INDEX_CONSTRAINT_OFFSET) return takeLimit(index, offset_);
    if (constraint.iColumn >= 0 && own < 0) {
      if (!constraint.usable) return false;
      if (constraint.op == SQLITE_INDEX_CONSTRAINT_EQ) {
        take(index, constraint.iColumn, Test::kArgument, true);
      }
      return true;
    }
    if (!constraint.usable || constraint.iColumn < 0) return true;
    const Column& column = table_.columns[static_cast<size_t>(own)];
    std::optional<Test> test = testOf(constraint.op, column, index);
    if (!test) return true;
    if (*test == Test::kEqual && sqlite3_vtab_in(info_, index, 1)) test = Test::kOneOf;
    take(index, own, *test, isDecidedHere(*test, column, index));
    estimate(own, column, *test);
    return true;
  }

  void take(int index, int column, Test test, bool decided) {
    plan_->tests.push_back({column, test});
    info_->aConstraintUsage[index].argvIndex = static_cast<int>(plan_->tests.size());
    info_->aConstraintUsage[index].omit = decided;
    all_decided_ = decided;
  }

  // Only if it is a number of the statement. SQLite itself still ends at the limit.
  bool takeLimit(int index, std::optional<sqlite3_int64>& number) {
    sqlite3_value* value = nullptr;
    if (sqlite3_vtab_rhs_value(info_, index, &value) == SQLITE_OK && value != nullptr &&
        sqlite3_value_type(value) == SQLITE_INTEGER) {
      number = sqlite3_value_int64(value);
      all_decided_ = true;
    }
    return true;
  }

  std::optional<Test> testOf(int op, const Column& column, int index) const {
    bool number = !column.isText() && !column.isReal();
    bool keyed = number || (column.encode && comparesBytes(index));
    switch (op) {
      case SQLITE_INDEX_CONSTRAINT_EQ:
        return keyed ? std::optional(Test::kEqual) : std::nullopt;
      case SQLITE_INDEX_CONSTRAINT_NE:
        return keyed ? std::optional(Test::kNotEqual) : std::nullopt;
      case SQLITE_INDEX_CONSTRAINT_IS:
        return number ? std::optional(Test::kIs) : std::nullopt;
      case SQLITE_INDEX_CONSTRAINT_LT:
        return number ? std::optional(Test::kLess) : std::nullopt;
      case SQLITE_INDEX_CONSTRAINT_LE:
        return number ? std::optional(Test::kLessEqual) : std::nullopt;
      case SQLITE_INDEX_CONSTRAINT_GT:
        return number ? std::optional(Test::kGreater) : std::nullopt;
      case SQLITE_INDEX_CONSTRAINT_GE:
        return number ? std::optional(Test::kGreaterEqual) : std::nullopt;
      case SQLITE_INDEX_CONSTRAINT_ISNULL:
        return Test::kIsNull;
      case SQLITE_INDEX_CONSTRAINT_ISNOTNULL:
        return Test::kIsNotNull;
      case SQLITE_INDEX_CONSTRAINT_LIKE:
        return column.like && isQuickPattern(constantText(index)) ? std::optional(Test::kLike)
                                                                  : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  bool comparesBytes(int index) const {
    return sqlite3_stricmp(sqlite3_vtab_collation(info_, index), "BINARY") == 0;
  }

  // The right-hand side, if it is a text literal of the query; else empty.
  std::string_view constantText(int index) const {
    sqlite3_value* value = nullptr;
    if (sqlite3_vtab_rhs_value(info_, index, &value) != SQLITE_OK || value == nullptr ||
        sqlite3_value_type(value) != SQLITE_TEXT) {
      return {};
    }
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
    return {text, static_cast<size_t>(sqlite3_value_bytes(value))};
  }

  // Does the filter decide exactly as SQLite, so that SQLite need not check again?
  bool isDecidedHere(Test test, const Column& column, int index) const {
    if (!column.isText() || test == Test::kIsNull || test == Test::kIsNotNull) return true;
    if (test == Test::kLike) return true;
    bool by_key = test == Test::kEqual || test == Test::kNotEqual;
    return by_key && !constantText(index).empty();
  }

  void estimate(int index, const Column& column, Test test) {
    bool equality = test == Test::kEqual || test == Test::kIs;
    if (equality && index == table_.device_column) device_fixed_ = true;
    if (equality) fixed_.push_back(index);
    if (test == Test::kIsNotNull || test == Test::kNotEqual) return;  // most rows
    if (column.sorted != Sorted::kNo && test != Test::kIsNull) narrowed_ = true;
    if (equality && column.sorted == Sorted::kRowNumber) unique_ = true;
    if (equality) {
      uint64_t distinct = column.sorted == Sorted::kRowNumber ? table_.rows : column.distinct;
      rows_ /= std::max<double>(static_cast<double>(distinct), 2);
      // A lookup: by search if rows are sorted, else through an order index. Columns with few
      // different values (an action, a device) are scanned.
      if (distinct >= 64 && column.canBeIndexed()) looked_up_ = true;
    } else if (test == Test::kLike || test == Test::kOneOf) {
      rows_ /= 8;
    } else {
      rows_ /= 4;
    }
    rows_ = std::max(rows_, 1.0);
  }

  double scanCost() const {
    double all = static_cast<double>(table_.rows);
    if (looked_up_) return 20;
    // Filters examine a batch of keys at a time, about ten times cheaper than a row through SQLite.
    return 10 + (narrowed_ ? rows_ : all) * 0.1;
  }

  bool isFixed(int column) const {
    return std::find(fixed_.begin(), fixed_.end(), column) != fixed_.end() ||
           (column == table_.device_column && table_.devices.size() <= 1);
  }

  // Groups are in this order, too. SQLite 3.40 says of `GROUP BY a ORDER BY a DESC` that any order
  // of the groups is enough (sqlite3_vtab_distinct), and does not sort them.
  void takeOrder() {
    if (info_->nOrderBy == 0 || arguments_ > 0) return;
    std::vector<SortColumn> wanted;
    for (int i = 0; i < info_->nOrderBy; ++i) {
      int column = info_->aOrderBy[i].iColumn;
      if (column < 0) return;
      if (isFixed(column)) continue;
      wanted.push_back({column, info_->aOrderBy[i].desc != 0});
    }
    if (wanted.empty() || isRowOrder(wanted)) {
      info_->orderByConsumed = 1;
      plan_->backward = !wanted.empty() && wanted.front().descending;
      return;
    }
    // SQLite sorts few rows faster than an order of the whole table.
    bool few = narrowed_ || rows_ * 64 < static_cast<double>(table_.rows);
    if (few || table_.rows >> 32 != 0) return;
    bool indexed = std::all_of(wanted.begin(), wanted.end(), [&](const SortColumn& by) {
      return table_.columns[static_cast<size_t>(by.column)].canBeIndexed();
    });
    if (canTakeTop(wanted)) {
      plan_->top = static_cast<size_t>(*limit_ + offset_.value_or(0));
      plan_->earlier_first = !indexed;
    } else if (!indexed) {
      return;
    }
    info_->orderByConsumed = 1;
    plan_->backward = std::all_of(wanted.begin(), wanted.end(),
                                  [](const SortColumn& by) { return by.descending; });
    if (plan_->backward) {
      for (SortColumn& by : wanted) by.descending = false;
    }
    plan_->order = std::move(wanted);
  }

  // Few rows of an order, and no condition that SQLite would check after.
  bool canTakeTop(const std::vector<SortColumn>& wanted) const {
    if (!all_decided_ || !limit_ || *limit_ < 1 || *limit_ > kMaxTop) return false;
    if (offset_.value_or(0) < 0 || offset_.value_or(0) > kMaxTop) return false;
    return wanted.size() <= kMaxTopColumns &&
           std::all_of(wanted.begin(), wanted.end(), [&](const SortColumn& by) {
             const Column& column = table_.columns[static_cast<size_t>(by.column)];
             return !column.isText() && !column.isReal();
           });
  }

  bool isRowNumber(const SortColumn& by) const {
    return table_.columns[static_cast<size_t>(by.column)].sorted == Sorted::kRowNumber;
  }

  // Are the rows in this order already, forwards or backwards? Pinned host memory, device −1, has
  // the last rows.
  bool isRowOrder(const std::vector<SortColumn>& wanted) const {
    bool by_device = std::is_sorted(
        table_.devices.begin(), table_.devices.end(),
        [](const DeviceRows& a, const DeviceRows& b) { return a.device < b.device; });
    if (!by_device && !isFixed(table_.device_column)) return isRowNumber(wanted.front());
    size_t position = 0;
    const std::vector<int>& natural = table_.natural_order;
    for (const SortColumn& by : wanted) {
      if (by.descending != wanted.front().descending) return false;
      const Column& column = table_.columns[static_cast<size_t>(by.column)];
      if (column.sorted == Sorted::kRowNumber) return true;
      while (position < natural.size() && isFixed(natural[position])) ++position;
      bool next = position < natural.size() && natural[position] == by.column;
      bool device_settled = table_.device_column < 0 || isFixed(table_.device_column) ||
                            (position > 0 && natural[0] == table_.device_column);
      bool ascends = column.sorted == Sorted::kWithinDevices && !column.narrow && device_settled;
      if (!next && !ascends) return false;
      if (next && ++position == natural.size()) return true;
    }
    return true;
  }

  const Table& table_;
  size_t arguments_;
  sqlite3_index_info* info_;
  Plan* plan_;
  double rows_;
  std::vector<int> fixed_;  // columns with one value in all rows of the result
  bool device_fixed_ = false;
  bool narrowed_ = false;  // by a search in sorted rows
  bool looked_up_ = false;
  bool unique_ = false;
  bool all_decided_ = true;  // SQLite checks no condition after the table
  std::optional<sqlite3_int64> limit_, offset_;
};

std::string_view symbol(Test test) {
  constexpr std::string_view kSymbols[] = {"= ?",         "<> ?",   "IS ?",   "< ?",
                                           "<= ?",        "> ?",    ">= ?",   "IS NULL",
                                           "IS NOT NULL", "IN (…)", "LIKE ?", "(argument)"};
  return kSymbols[static_cast<size_t>(test)];
}

}  // namespace

bool planScan(const Table& table, size_t arguments, sqlite3_index_info* info, Plan* plan) {
  return Planner(table, arguments, info, plan).run();
}

std::string describe(const Table& table, const Plan& plan) {
  std::string text;
  for (const PlannedTest& test : plan.tests) {
    if (test.test == Test::kArgument) continue;
    if (!text.empty()) text += ", ";
    text += table.columns[static_cast<size_t>(test.column)].name;
    text += ' ';
    text += symbol(test.test);
  }
  for (size_t i = 0; i < plan.order.size(); ++i) {
    text += i > 0 ? ", " : text.empty() ? "ordered by " : "; ordered by ";
    text += table.columns[static_cast<size_t>(plan.order[i].column)].name;
    if (plan.order[i].descending) text += " descending";
  }
  if (plan.backward) text += plan.order.empty() ? " backwards" : " descending";
  if (plan.top > 0) text += fmt::format(", the first {}", plan.top);
  return text;
}

}  // namespace tidegauge::query
