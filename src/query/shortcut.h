// A statement that only aggregates a table, answered over the columns (aggregates/statement.h).
//
//   SELECT action, count(*) FROM events GROUP BY action
//     1  SQLite accepts it: errors, and the names of the result's columns, are SQLite's
//     2  it is recognised: one pass over the columns makes one row per group
//     3  SELECT action, (+"tg#0") FROM events: SQLite answers the rest over these rows
//
// A second connection has the groups as its only table, under the name of the table that was asked.
// The rows are those that SQLite would return, in its order; tests/twin/query/aggregate_twin.cpp
// compares them. Cost: 0.2 ms, and 4 to 8 ns per row and column instead of some 80 per row.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/aggregates/statement.h"
#include "query/connection.h"

namespace tidegauge::query {

class Shortcut {
 public:
  // `connection` has accepted the statement. Null: SQLite must answer all of it.
  static std::unique_ptr<Shortcut> open(const std::string& sql, const std::vector<Table>& tables,
                                        const AnalysedTrace& trace, const Schema& schema,
                                        const Connection& connection, const Deadline& deadline);

  // Null: time was up.
  sqlite3_stmt* rows() const { return rows_.get(); }
  sqlite3* db() const { return connection_->get(); }

 private:
  explicit Shortcut(const Deadline& deadline) : context_{orders_, deadline} {}
  // False: it is about more than groups.
  bool prepareRest(const AggregateStatement& statement, const AnalysedTrace& trace,
                   const Schema& schema);

  Table groups_;
  OrderCache orders_;
  ScanContext context_;
  std::vector<VirtualTableSource> sources_;
  std::unique_ptr<Connection> connection_;
  Statement rows_;
};

}  // namespace tidegauge::query
