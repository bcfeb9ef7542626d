// Random statements with aggregates, each asked twice: over columns, where shortcut.h allows it,
// and by SQLite alone. Names, kinds, values, their types, the order of rows and errors must be the
// same.
//
//   SELECT action, sum(size_bytes) AS a FROM events e WHERE 5 <= e.step GROUP BY 1 ORDER BY a
//
// Many of them are no statements of the shortcut (a sum of an expression, OR, a column that is not
// grouped), and some are errors: it must leave those to SQLite. The traces have unknown, huge and
// negative values.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "analysis/trace/analysed_trace.h"
#include "query/database.h"
#include "support/trace_builder.h"

namespace tidegauge::query::aggregates {
namespace {

using Random = std::mt19937;
using Texts = std::vector<std::string>;
using testing::TraceBuilder;

size_t below(Random& random, size_t end) { return random() % end; }
bool oneIn(Random& random, size_t count) { return below(random, count) == 0; }

template <class T>
const T& oneOf(Random& random, const std::vector<T>& choices) {
  return choices[below(random, choices.size())];
}

// Rows of every table, with values at the ends of what SQLite's integers hold.
model::Trace oddTrace(Random& random, size_t events) {
  TraceBuilder builder;
  const std::vector<uint64_t> odd_bytes = {0,
                                           1,
                                           512,
                                           model::kUnknownBytes,
                                           (uint64_t{1} << 63) - 1,
                                           uint64_t{1} << 62,
                                           uint64_t{1} << 63,
                                           (uint64_t{1} << 53) + 1};
  const std::vector<uint64_t> odd_addresses = {0, uint64_t{1} << 63, ~uint64_t{0} - 4096,
                                               uint64_t{0x7f} << 40};
  const std::vector<int64_t> odd_times = {-5, 0, std::numeric_limits<int64_t>::max() - 100,
                                          std::numeric_limits<int64_t>::min() + 7};
  const std::vector<Texts> stacks = {{"forward@model.py:3", "main@train.py:90"},
                                     {"at::empty@Empty.cpp:0", "forward@model.py:3"},
                                     {"loss@loss.py:1"}};
  bool odd = oneIn(random, 2);
  if (!oneIn(random, 3)) builder.time(1'000'000);
  for (int32_t device : {0, 2, -1}) {
    if (oneIn(random, 5)) continue;
    builder.device(device).noStack().stream(0).segmentAlloc(0x10000, 1 << 20);
    for (size_t i = below(random, events + 1); i > 0; --i) {
      oneIn(random, 5) ? builder.noStack() : builder.stack(oneOf(random, stacks));
      builder.stream(below(random, 3) * 0x500);
      if (odd && oneIn(random, 30)) builder.time(oneOf(random, odd_times));
      bool is_odd = odd && oneIn(random, 12);
      uint64_t address =
          is_odd ? oneOf(random, odd_addresses) : 0x10000 + below(random, 40) * 0x4000;
      uint64_t bytes = is_odd ? oneOf(random, odd_bytes) : (below(random, 6) + 1) * 500;
      switch (below(random, 9)) {
        case 0:
          builder.free(address, bytes);
          break;
        case 1:
          builder.oom(is_odd ? oneOf(random, odd_bytes) : below(random, 5) * 1000,
                      odd && oneIn(random, 2) ? model::kUnknownBytes : bytes);
          break;
        case 2:
          builder.freeRequested(address, bytes);
          break;
        case 3:
          builder.freeCompleted(address, bytes);
          break;
        default:
          builder.alloc(address, bytes);
      }
    }
    builder.finalSegment(0x10000, 1 << 20)
        .block(0x8000, model::BlockState::kActiveAllocated, 500)
        .block((1 << 20) - 0x8000, model::BlockState::kInactive);
  }
  builder.annotation("step", 1'000'010, 1'000'100).annotation("forward", 1'000'020, 1'000'060, 1);
  return builder.build();
}

// ---- answers ------------------------------------------------------------------------------------

std::string textOf(const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return "NULL";
  if (const auto* text = std::get_if<std::string>(&cell)) return fmt::format("'{}'", *text);
  if (const auto* real = std::get_if<double>(&cell)) {
    return fmt::format("{} = {:x}", *real, std::bit_cast<uint64_t>(*real));
  }
  return fmt::format("{}", std::get<int64_t>(cell));
}

struct Answer {
  Texts lines;
  bool shortcut = false;
  bool failed = false;
};

Answer ask(const Database& database, const std::string& sql, bool shortcut) {
  QueryLimits limits;
  limits.shortcut = shortcut;
  auto result = database.run(sql, limits);
  Answer answer;
  if (!result.ok()) {
    const base::Error& error = result.error();
    answer.lines = {error.what, error.hint, fmt::format("{}", error.byte_offset.value_or(0))};
    answer.failed = true;
    return answer;
  }
  answer.shortcut = result.value().summary.shortcut;
  for (const QueryColumn& column : result.value().columns) {
    answer.lines.push_back(fmt::format("{} {} {} {}", column.name, name(column.kind), column.table,
                                       column.table_column));
  }
  for (const auto& row : result.value().rows) {
    Texts cells;
    for (const Cell& cell : row) cells.push_back(textOf(cell));
    answer.lines.push_back(fmt::format("{}", fmt::join(cells, " | ")));
  }
  return answer;
}

// ---- statements ---------------------------------------------------------------------------------

class Writer {
 public:
  Writer(Random& random, const Database& database) : random_(random), database_(database) {}

  std::string statement() {
    const std::vector<TableDoc>& tables = database_.schema().tables;
    table_ = oneIn(random_, 3) ? &oneOf(random_, tables) : &tableOf(oneOf(random_, kOften));
    alias_ = oneIn(random_, 3) ? "e" : "";
    Texts groups = groupTerms();
    Texts items = itemsOf(groups);
    std::string sql =
        pick({"SELECT ", "SELECT ", "select\n", "SELECT /* all */ ", "SELECT DISTINCT "});
    sql += fmt::format("{} FROM {}", fmt::join(items, pick({", ", ",", " , "})), fromTable());
    if (!oneIn(random_, 3)) sql += " WHERE " + conditions();
    if (!groups.empty()) sql += fmt::format(" GROUP BY {}", fmt::join(groups, ", "));
    if (oneIn(random_, 4)) sql += fmt::format(" HAVING {}", having(groups));
    if (oneIn(random_, 2)) sql += " ORDER BY " + orders(items, groups);
    if (oneIn(random_, 4)) sql += pick({" LIMIT 3", " LIMIT 2 OFFSET 1", " LIMIT 0", " limit -1"});
    if (oneIn(random_, 6)) sql += pick({";", " ; -- end", " -- no more"});
    return sql;
  }

 private:
  static inline const Texts kOften = {"events", "events",   "totals", "totals",
                                      "blocks", "segments", "pieces", "allocations"};
  // Small, so that few groups are frequent.
  static inline const Texts kGroups = {"action", "device", "stream",     "stack_id", "pool",
                                       "state",  "kind",   "provenance", "time_us",  "size_bytes"};

  std::string pick(const Texts& choices) { return oneOf(random_, choices); }
  const TableDoc& tableOf(const std::string& name) const {
    const auto& tables = database_.schema().tables;
    return *std::find_if(tables.begin(), tables.end(),
                         [&](const TableDoc& doc) { return doc.name == name; });
  }
  bool has(const std::string& column) const {
    return std::any_of(table_->columns.begin(), table_->columns.end(),
                       [&](const ColumnDoc& doc) { return doc.name == column; });
  }

  std::string fromTable() {
    if (alias_.empty()) return oneIn(random_, 4) ? "\"" + table_->name + "\"" : table_->name;
    return table_->name + pick({" AS ", " "}) + alias_;
  }

  std::string written(const std::string& column) {
    switch (below(random_, 8)) {
      case 0:
        return fmt::format("\"{}\"", column);
      case 1:
        return fmt::format("{}.{}", alias_.empty() ? table_->name : alias_, column);
      case 2: {
        std::string upper = column;
        for (char& c : upper) c = static_cast<char>(std::toupper(c));
        return upper;
      }
      default:
        return column;
    }
  }
  const ColumnDoc& anyColumn() { return oneOf(random_, table_->columns); }
  std::string number() {
    for (int i = 0; i < 10; ++i) {
      const ColumnDoc& column = anyColumn();
      if (column.kind != ColumnKind::kText) return written(column.name);
    }
    return written(anyColumn().name);
  }

  std::string call() {
    if (oneIn(random_, 4)) return pick({"count(*)", "COUNT( * )", "count()"});
    std::string name = pick({"count", "sum", "total", "avg", "min", "max", "Sum", "\"max\""});
    std::string argument = oneIn(random_, 6) ? written(anyColumn().name) : number();
    if (oneIn(random_, 30)) return fmt::format("{}(DISTINCT {})", name, argument);
    if (oneIn(random_, 30)) return fmt::format("{}({} + 1)", name, argument);
    if (oneIn(random_, 40))
      return fmt::format("{}({}) FILTER (WHERE {})", name, argument, conditions());
    if (oneIn(random_, 60)) return fmt::format("{}(*) OVER ()", "count");
    if (oneIn(random_, 60)) return fmt::format("group_concat({})", argument);
    if (oneIn(random_, 60)) return fmt::format("median({})", argument);
    return fmt::format("{}({})", name, argument);
  }

  std::string expression(const Texts& groups) {
    std::string one = call();
    switch (below(random_, 14)) {
      case 0:
        return fmt::format("{} * 2", one);
      case 1:
        return fmt::format("coalesce({}, -1)", one);
      case 2:
        return fmt::format("max({}, {})", one, call());
      case 3:
        return fmt::format("round({}, 2)", one);
      case 4:
        return fmt::format("-{} / {}", one, call());
      case 5:
        return fmt::format("typeof({})", one);
      case 6:
        return fmt::format("CASE WHEN {} > 3 THEN 'many' ELSE {} END", one, call());
      case 7:
        return groups.empty() ? "1" : fmt::format("{} || 'x'", pick(groups));
      case 8:
        return oneIn(random_, 4) ? fmt::format("(SELECT max(device) FROM devices) + {}", one) : one;
      case 9:
        return groups.empty() ? one : fmt::format("{} = {}", pick(groups), one);
      default:
        return one;
    }
  }

  Texts groupTerms() {
    Texts terms;
    for (size_t count = oneOf<size_t>(random_, {0, 1, 1, 1, 2, 2, 3}); count > 0; --count) {
      std::string column = pick(kGroups);
      if (!has(column) || oneIn(random_, 6)) column = anyColumn().name;
      terms.push_back(written(column));
      if (oneIn(random_, 25)) terms.back() += " + 0";
      if (oneIn(random_, 40)) terms.back() += " COLLATE NOCASE";
    }
    return terms;
  }

  // Result columns. Some groups become their number, or the alias of a result column.
  Texts itemsOf(Texts& groups) {
    Texts items;
    for (std::string& group : groups) {
      if (oneIn(random_, 5)) continue;
      items.push_back(group);
      if (oneIn(random_, 5)) {
        group = fmt::format("{}", items.size());
      } else if (oneIn(random_, 5)) {
        std::string alias =
            oneIn(random_, 3) ? anyColumn().name : "g" + std::to_string(items.size());
        items.back() += pick({" AS ", " "}) + alias;
        group = alias;
      }
    }
    for (size_t more = below(random_, 4) + (items.empty() ? 1 : 0); more > 0; --more) {
      items.push_back(expression(groups));
      if (oneIn(random_, 4)) {
        items.back() +=
            " AS " + (oneIn(random_, 4) ? anyColumn().name : pick({"a", "b", "x_bytes"}));
      }
    }
    if (oneIn(random_, 20)) items.push_back(written(anyColumn().name));  // perhaps of no group
    if (oneIn(random_, 40)) items.emplace_back("*");
    if (oneIn(random_, 40)) items.emplace_back("rowid");
    std::shuffle(items.begin(), items.end(), random_);
    return items;
  }

  std::string value(const ColumnDoc& column) {
    if (oneIn(random_, 3)) {
      return pick({"0",       "-1",    "2.5",   "1e30",
                   "-1e30",   "NULL",  "7",     "100",
                   "4096",    "'zz'",  "'12'",  "9223372036854775807",
                   "''",      "2.0",   "0x10",  "-9223372036854775808",
                   "'alloc'", "5 + 5", "-'3'",  "TRUE",
                   ".5",      "+ 7",   "x'31'", "'a''b'",
                   "- 1e3"});
    }
    QueryLimits limits;
    limits.rows = 40;
    auto values = database_.run(fmt::format("SELECT quote(\"{}\") FROM {} WHERE \"{}\" IS NOT NULL",
                                            column.name, table_->name, column.name),
                                limits);
    if (!values.ok() || values.value().rows.empty()) return "1";
    return std::get<std::string>(oneOf(random_, values.value().rows)[0]);
  }

  std::string condition() {
    bool narrow = has("step") && oneIn(random_, 4);
    const ColumnDoc& column = narrow ? table_->columns[below(random_, 2)] : anyColumn();
    std::string left = written(column.name);
    std::string right = value(column);
    switch (below(random_, 14)) {
      case 0:
        return left + pick({" IS NULL", " IS NOT NULL", " NOTNULL", " isnull", " NOT NULL"});
      case 1:
        return fmt::format("{} IN ({}, {}, 3)", left, right, value(column));
      case 2:
        return fmt::format("{} BETWEEN {} AND {}", left, right, value(column));
      case 3:
        return fmt::format("{} LIKE {}", left, pick({"'%forward%'", "'a%'", "'%o_'", "'%'", "4"}));
      case 4:
        return fmt::format("{} {} {}", right, pick({"<", "<=", "=", ">", ">=", "<>"}), left);
      case 5:
        return fmt::format("({} {} {})", left, pick({"<", "<>"}), right);
      case 6:
        return oneIn(random_, 3)
                   ? fmt::format("{} {} {}", left, pick({"<", "IS NOT", "NOT IN", "+"}), right)
                   : fmt::format("{} <> {}", left, right);
      case 7:
        return oneIn(random_, 4) ? fmt::format("{} < {}", left, written(anyColumn().name))
                                 : fmt::format("{} >= {}", left, right);
      default:
        return fmt::format("{} {} {}", left,
                           pick({"=", "==", "!=", "<>", "<", "<=", ">", ">=", "IS", "is"}), right);
    }
  }
  std::string conditions() {
    std::string all = condition();
    for (size_t more = below(random_, 3); more > 0; --more) {
      all += (oneIn(random_, 12) ? " OR " : " AND ") + condition();
    }
    return oneIn(random_, 15) ? fmt::format("NOT {}", all) : all;
  }

  std::string having(const Texts& groups) {
    std::string left = groups.empty() || oneIn(random_, 2) ? call() : pick(groups);
    return fmt::format("{} {} {}", left, pick({">", "<", "=", "<>", "IS NOT", "LIKE"}),
                       pick({"1", "'alloc'", "NULL", "'%a%'", "2.5", "1000", "'1'"}));
  }

  std::string orders(const Texts& items, const Texts& groups) {
    Texts terms;
    for (size_t count = below(random_, 3) + 1; count > 0; --count) {
      std::string term = call();
      if (oneIn(random_, 3)) term = fmt::format("{}", below(random_, items.size()) + 1);
      if (!groups.empty() && oneIn(random_, 2)) term = pick(groups);
      if (oneIn(random_, 12)) term = pick({"a", "b", "g1", "x_bytes"});
      terms.push_back(term + pick({"", "", " DESC", " ASC", " DESC NULLS LAST", " NULLS LAST"}));
    }
    return fmt::format("{}", fmt::join(terms, ", "));
  }

  Random& random_;
  const Database& database_;
  const TableDoc* table_ = nullptr;
  std::string alias_;
};

// ---- tests --------------------------------------------------------------------------------------

class AggregateTwin : public ::testing::TestWithParam<uint32_t> {};

TEST_P(AggregateTwin, ShortcutsAnswerAsSqliteDoes) {
  constexpr int kStatements = 1000;
  Random random{GetParam()};
  size_t events = GetParam() == 0 ? 0 : 10 + GetParam() * 60;
  analysis::AnalysedTrace trace{oddTrace(random, events)};
  Scope scope;
  if (GetParam() % 3 == 2) scope = {0, 5, 200};
  Database database{trace, scope};
  Writer writer{random, database};
  int shortcuts = 0;
  int failures = 0;
  for (int i = 0; i < kStatements && !HasFailure(); ++i) {
    std::string sql = writer.statement();
    Answer expected = ask(database, sql, false);
    Answer answer = ask(database, sql, true);
    EXPECT_FALSE(expected.shortcut);
    EXPECT_EQ(answer.lines, expected.lines) << sql;
    shortcuts += answer.shortcut ? 1 : 0;
    failures += expected.failed ? 1 : 0;
  }
  RecordProperty("shortcuts", shortcuts);
  RecordProperty("failures", failures);
  EXPECT_GT(shortcuts, kStatements / 5);
  EXPECT_LT(failures, kStatements / 2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AggregateTwin, ::testing::Range(0U, 10U));

}  // namespace
}  // namespace tidegauge::query::aggregates
