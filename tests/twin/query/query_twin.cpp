// SQL against itself and against plain loops, on random traces of several devices.
//
//   push-down   WHERE step > 5 AND action = 'alloc'   the tables decide: searches, filters, orders
//   twin        WHERE +step > 5 AND +action = 'alloc' a unary plus hides the column: SQLite decides
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/trace/analysed_trace.h"
#include "query/database.h"
#include "support/trace_builder.h"

namespace tidegauge::query {
namespace {

using Random = std::mt19937;
using testing::TraceBuilder;

size_t below(Random& random, size_t end) { return random() % end; }
bool oneIn(Random& random, size_t count) { return below(random, count) == 0; }

template <class T>
const T& oneOf(Random& random, const std::vector<T>& choices) {
  return choices[below(random, choices.size())];
}

// Arbitrary events: frees without alloc, allocs over live blocks, times that jump back.
model::Trace randomTrace(Random& random, size_t events, bool has_lives = true) {
  TraceBuilder builder;
  const std::vector<std::vector<std::string>> stacks = {
      {"forward@model.py:3", "main@train.py:90"},
      {"log_softmax@loss.py:30", "forward@model.py:7", "main@train.py:90"},
      {"at::empty@Empty.cpp:0", "forward@model.py:3"},
      {"LOG@deep/Loss.py:1"}};
  bool timed = below(random, 4) != 0;
  if (timed) builder.time(1'000'000);
  for (int32_t device : {0, 1, 3}) {
    builder.device(device).noStack().stream(0);
    builder.segmentAlloc(0x10000, 1 << 20);
    size_t count = below(random, events) + 1;
    for (size_t i = 0; i < count; ++i) {
      below(random, 8) == 0 ? builder.noStack() : builder.stack(oneOf(random, stacks));
      builder.stream(below(random, 3) * 0x500);
      if (timed && below(random, 50) == 0) builder.time(static_cast<int64_t>(random() % 3'000'000));
      uint64_t address = 0x10000 + below(random, 40) * 0x4000;
      uint64_t bytes = (below(random, 6) + 1) * 500;
      switch (below(random, 12)) {
        case 0:
          builder.free(address, bytes);
          break;
        case 1:
          builder.oom(below(random, 5) * 1000, bytes);
          break;
        case 2:
          builder.freeRequested(address, bytes);
          break;
        case 3:
          builder.freeCompleted(address, bytes);
          break;
        case 4:
          builder.alloc(address + (uint64_t{1} << 40), bytes);  // in no segment
          break;
        default:
          builder.alloc(address, bytes);
      }
    }
    builder.finalSegment(0x10000, 1 << 20).block(1 << 20, model::BlockState::kInactive);
  }
  builder.annotation("step", 1'000'010, 1'000'100).annotation("forward", 1'000'020, 1'000'060, 1);
  return has_lives ? builder.build() : builder.buildEventsAlone();
}

std::string textOf(const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return "NULL";
  if (const auto* text = std::get_if<std::string>(&cell)) {
    std::string quoted = "'";
    for (char c : *text) quoted += c == '\'' ? "''" : std::string(1, c);
    return quoted + "'";
  }
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  return fmt::format("{}", std::get<int64_t>(cell));
}

using Rows = std::vector<std::string>;

Rows ask(const Database& database, const std::string& sql, bool shortcut = true) {
  auto result = database.run(sql, {.rows = 10'000'000, .shortcut = shortcut});
  EXPECT_TRUE(result.ok()) << sql << "\n" << result.error().what << "\n" << result.error().hint;
  Rows rows;
  if (!result.ok()) return rows;
  for (const auto& row : result.value().rows) {
    Rows cells;
    for (const Cell& cell : row) cells.push_back(textOf(cell));
    rows.push_back(fmt::format("{}", fmt::join(cells, " | ")));
  }
  return rows;
}

Rows askSqlite(const Database& database, const std::string& sql) {
  return ask(database, sql, false);
}

Rows sorted(Rows rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

const std::vector<std::string> kTables = {
    "devices", "events",       "allocations", "segments", "pieces", "blocks",   "totals", "stacks",
    "frames",  "stack_frames", "annotations", "streams",  "pools",  "settings", "issues"};

const TableDoc& docOf(const Database& database, const std::string& table) {
  const auto& tables = database.schema().tables;
  return *std::find_if(tables.begin(), tables.end(),
                       [&](const TableDoc& doc) { return doc.name == table; });
}

// A value of the column as SQL, taken from the table or invented.
std::string randomValue(Random& random, const Database& database, const std::string& table,
                        const ColumnDoc& column) {
  const std::vector<std::string> odd = {"0",  "-1",  "2.5",  "1e30", "-1e30", "NULL",
                                        "7",  "100", "4096", "'zz'", "'12'",  "9223372036854775807",
                                        "''", "2.0"};
  if (below(random, 4) == 0) {
    bool text = column.kind == ColumnKind::kText;
    return text ? oneOf<std::string>(random, {"'zz'", "''", "NULL", "'traced'"})
                : oneOf(random, odd);
  }
  Rows values = ask(database, fmt::format("SELECT DISTINCT +\"{}\" FROM {} "
                                          "WHERE +\"{}\" IS NOT NULL LIMIT 50",
                                          column.name, table, column.name));
  return values.empty() ? "1" : oneOf(random, values);
}

// The condition twice: plain, and hidden from the tables.
struct Condition {
  std::string plain;
  std::string hidden;
};

Condition randomCondition(Random& random, const Database& database, const std::string& table) {
  const TableDoc& doc = docOf(database, table);
  const ColumnDoc& column = oneOf(random, doc.columns);
  std::string value = randomValue(random, database, table, column);
  std::string rest;
  switch (below(random, 8)) {
    case 0:
      rest = oneOf<std::string>(random, {"IS NULL", "IS NOT NULL"});
      break;
    case 1:
      rest = fmt::format("IN ({}, {}, 3)", value, randomValue(random, database, table, column));
      break;
    case 2:
      rest = fmt::format("BETWEEN {} AND {}", value, randomValue(random, database, table, column));
      break;
    case 3:
      if (column.kind == ColumnKind::kText) {
        rest = "LIKE " + oneOf<std::string>(
                             random, {"'%forward%'", "'%LOG_softmax%'", "'%30%model%'", "'a%'",
                                      "'%e'", "'trac_d'", "'%'", "'%x_y_z%'", "'%softmax_model%'"});
        break;
      }
      [[fallthrough]];
    default:
      rest = oneOf<std::string>(random, {"=", "=", "<>", "<", "<=", ">", ">=", "IS"}) + " " + value;
  }
  // A plus also removes the column's affinity; CAST restores it, so that 5 = '5' stays true.
  const char* affinity = column.kind == ColumnKind::kText   ? "TEXT"
                         : column.kind == ColumnKind::kReal ? "REAL"
                                                            : "INTEGER";
  return {fmt::format("\"{}\" {}", column.name, rest),
          fmt::format("CAST(\"{}\" AS {}) {}", column.name, affinity, rest)};
}

Condition randomConditions(Random& random, const Database& database, const std::string& table) {
  Condition all = randomCondition(random, database, table);
  for (size_t more = below(random, 3); more > 0; --more) {
    Condition one = randomCondition(random, database, table);
    all = {all.plain + " AND " + one.plain, all.hidden + " AND " + one.hidden};
  }
  return all;
}

class QueryTwin : public ::testing::TestWithParam<uint32_t> {
 protected:
  Random random_{GetParam()};
  analysis::AnalysedTrace trace_{randomTrace(random_, 20 + GetParam() * 90)};
  Database database_{trace_};
};

TEST_P(QueryTwin, FiltersAgree) {
  for (int i = 0; i < 150; ++i) {
    const std::string& table = oneOf(random_, kTables);
    Condition where = randomConditions(random_, database_, table);
    std::string start = fmt::format("SELECT * FROM {} WHERE ", table);
    EXPECT_EQ(ask(database_, start + where.plain), ask(database_, start + where.hidden))
        << start + where.plain;
  }
}

TEST_P(QueryTwin, OrdersAgree) {
  for (int i = 0; i < 60; ++i) {
    const std::string& table = oneOf(random_, kTables);
    const TableDoc& doc = docOf(database_, table);
    std::string where;
    if (below(random_, 2) == 0) where = "WHERE " + randomCondition(random_, database_, table).plain;
    Rows terms, hidden_terms, shown;
    for (size_t n = below(random_, 3) + 1; n > 0; --n) {
      const std::string& column = oneOf(random_, doc.columns).name;
      std::string direction = oneOf<std::string>(random_, {"", " DESC"});
      shown.push_back(fmt::format("\"{}\"", column));
      terms.push_back(shown.back() + direction);
      hidden_terms.push_back("+" + terms.back());
    }
    // Only the order of equal rows is free, and rows are compared by what they are ordered by.
    std::string start =
        fmt::format("SELECT {} FROM {} {} ORDER BY ", fmt::join(shown, ", "), table, where);
    std::string sql = fmt::format("{}{}", start, fmt::join(terms, ", "));
    Rows expected = ask(database_, fmt::format("{}{}", start, fmt::join(hidden_terms, ", ")));
    EXPECT_EQ(ask(database_, sql), expected) << sql;
    std::string limit = fmt::format(" LIMIT {} OFFSET {}", below(random_, 30), below(random_, 3));
    EXPECT_EQ(ask(database_, sql + limit),
              ask(database_, fmt::format("{}{}{}", start, fmt::join(hidden_terms, ", "), limit)))
        << sql << limit;
    Rows all = sorted(ask(database_, fmt::format("SELECT * FROM {} {}", table, where)));
    EXPECT_EQ(sorted(ask(database_, fmt::format("SELECT * FROM {} {} ORDER BY {}", table, where,
                                                fmt::join(terms, ", ")))),
              all);
  }
}

TEST_P(QueryTwin, GroupsAgree) {
  for (int i = 0; i < 40; ++i) {
    const std::string& table = oneOf(random_, kTables);
    const TableDoc& doc = docOf(database_, table);
    const std::string& column = oneOf(random_, doc.columns).name;
    const std::string& other = oneOf(random_, doc.columns).name;
    const char* form =
        "SELECT {2}\"{0}\", {2}\"{1}\", count(*) FROM {3} GROUP BY {2}\"{0}\", {2}\"{1}\"";
    std::string sql = fmt::format(fmt::runtime(form), column, other, "", table);
    std::string twin_sql = fmt::format(fmt::runtime(form), column, other, "+", table);
    EXPECT_EQ(askSqlite(database_, sql), askSqlite(database_, twin_sql)) << sql;
    std::string order = fmt::format(" ORDER BY 1{0}, 2{0}", oneIn(random_, 2) ? " DESC" : "");
    EXPECT_EQ(askSqlite(database_, sql + order), askSqlite(database_, twin_sql + order)) << sql;
    EXPECT_EQ(ask(database_, sql), askSqlite(database_, sql)) << sql;
    std::string distinct = fmt::format("SELECT DISTINCT \"{}\" FROM {}", column, table);
    std::string twin = fmt::format("SELECT DISTINCT +\"{}\" FROM {}", column, table);
    EXPECT_EQ(sorted(ask(database_, distinct)), sorted(ask(database_, twin))) << distinct;
  }
}

TEST_P(QueryTwin, JoinsAgree) {
  const std::vector<std::pair<std::string, std::string>> joins = {
      {"events e JOIN allocations a", "{}a.id = e.allocation_id"},
      {"allocations a JOIN events e", "{}e.allocation_id = a.id"},
      {"allocations a JOIN events e", "{}e.device = a.device AND {}e.step = a.alloc_step"},
      {"stacks s JOIN allocations a", "{}a.stack_id = s.id"},
      {"events e LEFT JOIN stacks s", "{}s.id = e.stack_id"},
      {"segments g JOIN allocations a", "{}a.segment_id = g.id"},
      {"stacks s JOIN stack_frames x", "{}x.stack_id = s.id"},
      {"frames f JOIN stack_frames x", "{}x.frame_id = f.id"},
      {"allocations a JOIN allocations b", "{}b.address = a.address AND {}b.version = a.version"},
      {"annotations p JOIN totals t",
       "{}t.device = p.device AND {}t.step >= p.begin_step AND {}t.step < p.end_step"}};
  for (const auto& [from, on] : joins) {
    auto sql = [&, from = from, on = on](const std::string& plus) {
      std::string condition = on;
      for (size_t at = 0; (at = condition.find("{}", at)) != std::string::npos;) {
        condition.replace(at, 2, plus);
      }
      return fmt::format("SELECT * FROM {} ON {}", from, condition);
    };
    EXPECT_EQ(sorted(ask(database_, sql(""))), sorted(ask(database_, sql("+")))) << sql("");
  }
}

TEST_P(QueryTwin, TableFunctionsAgree) {
  const model::Trace& trace = trace_.trace;
  for (const model::Device& device : trace.devices) {
    for (int i = 0; i < 10; ++i) {
      auto step = static_cast<model::Step>(below(random_, device.steps() + 2));
      model::Step state = std::min(step, device.steps() - 1);
      Rows live =
          ask(database_, fmt::format("SELECT id FROM live_at({}, {})", device.ordinal, step));
      Rows expected;
      uint64_t bytes = 0;
      for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
        if (!analysis::liveAfter(trace, static_cast<uint32_t>(row), state)) continue;
        expected.push_back(fmt::format("{}", row));
        bytes += trace.allocations.block_bytes[row];
      }
      EXPECT_EQ(live, expected);
      EXPECT_EQ(ask(database_, fmt::format("SELECT coalesce(sum(size_bytes), 0) FROM blocks_at({}, "
                                           "{}) WHERE state <> 'inactive'",
                                           device.ordinal, step)),
                Rows{fmt::format("{}", bytes)});
      std::string from = fmt::format("FROM live_at({}, {}) WHERE ", device.ordinal, step);
      Condition where = randomConditions(random_, database_, "allocations");
      EXPECT_EQ(ask(database_, "SELECT * " + from + where.plain),
                ask(database_, "SELECT * " + from + where.hidden))
          << where.plain;
    }
  }
}

TEST_P(QueryTwin, NumbersAreThoseOfTheColumns) {
  const model::Trace& trace = trace_.trace;
  Rows events;
  Rows totals;
  for (size_t d = 0; d < trace.devices.size(); ++d) {
    const model::Device& device = trace.devices[d];
    for (uint64_t row = device.event_begin; row < device.event_end; ++row) {
      auto step = static_cast<model::Step>(row - device.event_begin);
      events.push_back(fmt::format("{} | {} | '{}' | {}", device.ordinal, step,
                                   trace.actionName(trace.events.action[row]),
                                   trace.events.size_bytes[row]));
      analysis::Totals t = trace_.devices[d]->totals.at(step);
      uint64_t outside = 0;
      for (uint64_t a = device.allocation_begin; a < device.allocation_end; ++a) {
        bool counts = !trace.allocations.segment[a].valid() &&
                      analysis::liveAfter(trace, static_cast<uint32_t>(a), step);
        outside += counts ? trace.allocations.block_bytes[a] : 0;
      }
      totals.push_back(fmt::format("{} | {} | {} | {} | {} | {}", device.ordinal, step,
                                   t.requested_bytes, t.active_bytes, t.reserved_bytes, outside));
    }
  }
  EXPECT_EQ(ask(database_, "SELECT device, step, action, size_bytes FROM events"), events);
  EXPECT_EQ(ask(database_,
                "SELECT device, step, requested_bytes, active_bytes, reserved_bytes, "
                "unaccounted_bytes FROM totals"),
            totals);
}

TEST_P(QueryTwin, PercentilesAgree) {
  Rows values = ask(database_, "SELECT size_bytes FROM events ORDER BY +size_bytes");
  auto at = [&](size_t i) { return std::stod(values[i]); };
  size_t last = values.size() - 1;
  double median = last % 2 == 0 ? at(last / 2) : (at(last / 2) + at(last / 2 + 1)) / 2;
  EXPECT_EQ(ask(database_,
                "SELECT median(size_bytes), percentile(size_bytes, 0), "
                "percentile(size_bytes, 100), median(NULL) FROM events"),
            Rows{fmt::format("{} | {} | {} | NULL", median, at(0), at(last))});
}

// The same statements on a trace whose lives were not built, where they read events alone.
TEST_P(QueryTwin, EventsAloneAnswerTheSame) {
  Random same{GetParam()};
  analysis::AnalysedTrace alone{randomTrace(same, 20 + GetParam() * 90, false),
                                analysis::EventsAlone()};
  Database without(alone);
  int asked = 0;
  for (int i = 0; i < 200; ++i) {
    std::string what = oneOf<std::string>(
        random_, {"count(*)", "action, count(*), sum(size_bytes)", "stack_id, max(time_us)",
                  "DISTINCT stream", "device, min(step), max(step)", "*", "median(size_bytes)"});
    std::string sql = fmt::format("SELECT {} FROM events WHERE {}", what,
                                  randomConditions(random_, database_, "events").plain);
    if (what.find(", ") != std::string::npos) sql += " GROUP BY 1";
    base::Result<bool> is_enough = without.readsEventsAlone(sql);
    ASSERT_TRUE(is_enough.ok()) << sql;
    bool names_lives = what == "*" || sql.find("allocation_id") != std::string::npos ||
                       sql.find("segment_id") != std::string::npos;
    EXPECT_EQ(is_enough.value(), !names_lives) << sql;
    if (!is_enough.value()) continue;
    asked += 1;
    EXPECT_EQ(sorted(ask(database_, sql)), sorted(ask(without, sql))) << sql;
  }
  EXPECT_GT(asked, 50);
  for (const char* sql :
       {"SELECT 1", "SELECT * FROM allocations", "SELECT count(*) FROM live_at(0, 1)",
        "SELECT stack_text(stack_id) FROM events",
        "SELECT * FROM events e JOIN stacks s ON s.id = e.stack_id"})
    EXPECT_FALSE(without.readsEventsAlone(sql).value()) << sql;
  EXPECT_FALSE(without.readsEventsAlone("SELECT nothing FROM events").ok());
}

INSTANTIATE_TEST_SUITE_P(Seeds, QueryTwin, ::testing::Range(0U, 12U));

}  // namespace
}  // namespace tidegauge::query
