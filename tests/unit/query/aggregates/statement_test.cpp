#include "query/aggregates/statement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "query/scan/columns.h"

namespace tidegauge::query {
namespace {

std::vector<Table> tables() {
  Table table;
  table.name = "events";
  for (const char* column : {"action", "step", "size_bytes"}) {
    add(table, ColumnKind::kInteger, column, "", nulls());
  }
  return {table};
}

// "conditions / groups / calls / rest"; "declined".
std::string recognised(const std::string& sql) {
  static const std::vector<Table> kTables = tables();
  auto statement = recognise(sql, kTables);
  if (!statement) return "declined";
  std::string text;
  for (const Condition& condition : statement->conditions) {
    text += fmt::format("{}:{}", condition.column, static_cast<int>(condition.test));
    for (const std::string& value : condition.values) text += " " + value;
    text += ", ";
  }
  text += "/";
  for (int group : statement->groups) text += fmt::format(" {}", group);
  text += " /";
  for (const AggregateCall& call : statement->calls) {
    text += fmt::format(" {}({})", static_cast<int>(call.what), call.column);
  }
  return text + " / " + statement->rest;
}

TEST(AggregateStatement, IsCutIntoConditionsGroupsCallsAndARest) {
  EXPECT_EQ(recognised("SELECT count(*) FROM events"),
            "/ / 0(-1) / SELECT (+\"tg#0\") FROM events");
  EXPECT_EQ(recognised("select max(e.\"size_bytes\"), COUNT(*) /* all */ AS n from Events AS e;"),
            "/ / 5(2) 0(-1) / select (+\"tg#0\"), (+\"tg#1\") AS n FROM Events AS e");
  EXPECT_EQ(
      recognised(
          "SELECT action AS a, sum(size_bytes)/2 FROM events WHERE 5 <= step AND (action IN (1, "
          "'x')) GROUP BY a HAVING count(*) > 1 ORDER BY sum(size_bytes) DESC LIMIT 3"),
      "1:6  5, 0:9 1  'x', / 0 / 1(2) 0(-1) / SELECT action AS a, (+\"tg#0\")/2 FROM events WHERE "
      "(+\"tg#1\") > 1 ORDER BY (+\"tg#0\") DESC LIMIT 3");
  EXPECT_EQ(recognised("SELECT max(sum(step), 3), step FROM events GROUP BY 2, action"),
            "/ 1 0 / 1(1) / SELECT max((+\"tg#0\"), 3), step FROM events");
}

TEST(AggregateStatement, DeclinesWhatItDoesNotKnow) {
  for (const char* sql : {
           "",
           "SELECT 1",
           "SELECT step FROM events",
           "EXPLAIN SELECT count(*) FROM events",
           "SELECT count(*) FROM other",
           "SELECT count(*) FROM events, events AS b",
           "SELECT count(*) FROM main.events",
           "SELECT count(*) FROM events NOT INDEXED",
           "SELECT count(*) FROM (SELECT 1)",
           "SELECT count(*) FROM events WHERE step",
           "SELECT count(*) FROM events WHERE step = 1 OR step = 2",
           "SELECT count(*) FROM events WHERE NOT step = 1",
           "SELECT count(*) FROM events WHERE step = 1 + 1",
           "SELECT count(*) FROM events WHERE step < 5 < 7",
           "SELECT count(*) FROM events WHERE step = size_bytes",
           "SELECT count(*) FROM events WHERE step = ?1",
           "SELECT count(*) FROM events WHERE step = x'00'",
           "SELECT count(*) FROM events WHERE step = TRUE",
           "SELECT count(*) FROM events WHERE step = 5 COLLATE NOCASE",
           "SELECT count(*) FROM events GROUP BY step + 1",
           "SELECT count(*) FROM events GROUP BY 1",
           "SELECT count(*) FROM events GROUP BY step, step",
           "SELECT count(*) FILTER (WHERE step > 1) FROM events",
           "SELECT count(*) OVER () FROM events",
           "SELECT \"tg#0\", count(*) FROM events",
           "SELECT count(*) FROM events UNION SELECT 1",
           "SELECT count(*) FROM events WHERE step = /* open",
       }) {
    EXPECT_EQ(recognised(sql), "declined") << sql;
  }
}

}  // namespace
}  // namespace tidegauge::query
