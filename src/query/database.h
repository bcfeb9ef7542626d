// SQL over one analysed trace. Read-only: no statement can change anything or reach another file.
//
//   Database db(trace);
//   auto result = db.run("SELECT action, count(*) FROM events GROUP BY action", {});
//   if (!result.ok()) show(result.error());
//
// Tables are views on the model's columns (table.h), so opening costs nothing and no row is copied.
// Statements that only aggregate a table are answered without SQLite's loop over rows (shortcut.h).
// Thread-safe: every run has an SQLite connection of its own (about 0.1 ms). The trace must outlive
// the database.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "query/scan/order_index.h"
#include "query/scan/schema.h"
#include "query/tables/tables.h"
#include "query/tables/whole_tables.h"

namespace tidegauge::query {

struct ScanContext;         // virtual_table.h
struct VirtualTableSource;  // …

struct QueryLimits {
  uint64_t rows = 100'000;
  uint64_t bytes = uint64_t{256} << 20;  // of all values together
  uint64_t milliseconds = 30'000;
  std::stop_token stop{};  // ends the query early, with an error
  bool shortcut = true;  // over columns where that gives the same rows (shortcut.h); false: a test
};

// A part of the file: tables show only rows inside it, and `events` and `totals` only these steps;
// rows with a life are shown if the life overlaps it.
struct Scope {
  std::optional<int64_t> device;
  std::optional<int64_t> first_step;
  std::optional<int64_t> last_step;
};

struct QueryColumn {
  std::string name;
  ColumnKind kind = ColumnKind::kInteger;
  // The source of its values, if they are an unchanged column of a table; else empty.
  std::string table;
  std::string table_column;
};

using CellView = std::variant<std::monostate, int64_t, double, std::string_view>;
using Cell = std::variant<std::monostate, int64_t, double, std::string>;  // monostate = NULL

// Receives rows as they are computed. Texts are valid during the call only.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void onColumns(const std::vector<QueryColumn>& columns) = 0;  // once, before all rows
  virtual void onRow(std::span<const CellView> cells) = 0;
};

struct QuerySummary {
  uint64_t rows = 0;
  bool truncated = false;  // more rows exist than the limits allow
  bool shortcut = false;   // they were computed over columns (shortcut.h)
  double elapsed_ms = 0;
};

struct QueryResult {
  std::vector<QueryColumn> columns;
  std::vector<std::vector<Cell>> rows;
  QuerySummary summary;
};

class Database {
 public:
  // `whole`: the whole recording, if the trace is a process of one; null: its tables are empty.
  explicit Database(const analysis::AnalysedTrace& trace, const Scope& scope = {},
                    const Whole& whole = nullptr);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Errors: kUsage for invalid SQL (byte_offset = position in the SQL, if known; hint = a
  // correction), kLimit if time was up or `stop` was requested.
  base::Result<QueryResult> run(const std::string& sql, const QueryLimits& limits) const;
  base::Result<QuerySummary> stream(const std::string& sql, const QueryLimits& limits,
                                    RowSink& sink) const;

  // Does it only read what is the same for each process of a recording? Or the error of invalid
  // SQL.
  base::Result<bool> asksWholeRecording(const std::string& sql) const;

  // Does it only read what events alone say? Then lives need not be built to answer it
  // (analysed_trace.h, EventsAlone). Or the error of invalid SQL.
  base::Result<bool> readsEventsAlone(const std::string& sql) const;

  const Schema& schema() const { return schema_; }
  const std::vector<Table>& tables() const { return tables_; }

 private:
  // What a statement reads: tables, and columns as "events.step".
  struct Reads {
    std::set<std::string> tables, columns;
  };
  base::Result<Reads> readsOf(const std::string& sql) const;
  std::vector<VirtualTableSource> sources(ScanContext& context) const;

  const analysis::AnalysedTrace& trace_;
  std::vector<Table> tables_;
  std::vector<TableFunction> functions_;
  Schema schema_;
  // Filled while queries run; it has its own lock.
  std::unique_ptr<OrderCache> orders_ = std::make_unique<OrderCache>();
};

}  // namespace tidegauge::query
