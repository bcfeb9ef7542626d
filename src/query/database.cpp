#include "query/database.h"

#include <fmt/format.h>

#include <algorithm>

#include "query/connection.h"
#include "query/explain_error.h"
#include "query/functions/functions.h"
#include "query/shortcut.h"

namespace tidegauge::query {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<Table> allTables(const AnalysedTrace& trace, const Whole& whole) {
  std::vector<Table> tables;
  tables.push_back(fileTable(trace));
  tables.push_back(devicesTable(trace));
  tables.push_back(eventsTable(trace));
  tables.push_back(allocationsTable(trace));
  tables.push_back(tensorsTable(trace));
  tables.push_back(segmentsTable(trace));
  tables.push_back(piecesTable(trace));
  tables.push_back(blocksTable(trace, finalBlocks(trace)));
  tables.push_back(totalsTable(trace));
  tables.push_back(stacksTable(trace));
  tables.push_back(framesTable(trace));
  tables.push_back(stackFramesTable(trace));
  tables.push_back(annotationsTable(trace));
  tables.push_back(streamsTable(trace));
  tables.push_back(poolsTable(trace));
  tables.push_back(settingsTable(trace));
  tables.push_back(issuesTable(trace));
  tables.push_back(allProcessesTable(whole));
  tables.push_back(allHeldTable(whole));
  tables.push_back(processesTable(trace));
  tables.push_back(functionsTable(trace));
  tables.push_back(kernelsTable(trace));
  tables.push_back(launchesTable(trace));
  tables.push_back(launchEventsTable(trace));
  tables.push_back(deviceActivitiesTable(trace));
  tables.push_back(deviceProgramsTable(trace));
  tables.push_back(copiesTable(trace));
  tables.push_back(refusedTable(trace));
  tables.push_back(heldAtEndTable(trace));
  tables.push_back(lossesTable(trace));
  tables.push_back(unwatchedTable(trace));
  tables.push_back(incompleteTable(trace));
  tables.push_back(unrecordedTable(whole));
  tables.push_back(partTable(whole));
  tables.push_back(gpusTable(whole));
  tables.push_back(gpuProcessesTable(whole));
  tables.push_back(deviceMemoryTable(whole));
  return tables;
}

void restrict(Table& table, const Scope& scope) {
  auto keep = [&](const char* name, std::optional<int64_t> low, std::optional<int64_t> high) {
    int column = table.findColumn(name);
    if (column < 0 || (!low && !high)) return;
    KeyRange range;
    range.column = column;
    range.low = low.value_or(range.low);
    range.high = high.value_or(range.high);
    table.within.push_back(range);
  };
  // "from … to": [first, end)
  auto keepTouching = [&](const char* first, const char* end) {
    if (table.findColumn(end) < 0) return;
    keep(first, std::nullopt, scope.last_step);
    if (scope.first_step) keep(end, *scope.first_step + 1, std::nullopt);
  };
  // Streams, pools and issues may belong to several devices or to none. The driver numbers its
  // devices differently.
  bool shared = table.name == "streams" || table.name == "pools" || table.name == "issues" ||
                table.of_recording;
  if (!shared) keep("device", scope.device, scope.device);
  keep("step", scope.first_step, scope.last_step);
  keepTouching("first_step", "last_step");
  keepTouching("begin_step", "end_step");
}

// The kind of a result column. Columns of tables know it; for an expression, the name and the first
// value show it.
ColumnKind kindOf(sqlite3_stmt* statement, int column, sqlite3_stmt* row) {
  ColumnKind kind;
  if (kindOfDeclaredType(sqlite3_column_decltype(statement, column), &kind)) return kind;
  int type = row != nullptr ? sqlite3_column_type(row, column) : SQLITE_NULL;
  if (type == SQLITE_TEXT || type == SQLITE_BLOB) return ColumnKind::kText;
  std::string_view name = sqlite3_column_name(statement, column);
  if (name.ends_with("bytes")) return ColumnKind::kBytes;
  if (type == SQLITE_FLOAT) return ColumnKind::kReal;
  if (name == "step" || name.ends_with("_step")) return ColumnKind::kStep;
  if (name.ends_with("time_us")) return ColumnKind::kTime;
  return ColumnKind::kInteger;
}

// `row`: the statement that is on the first row, or null if there is none.
std::vector<QueryColumn> columnsOf(sqlite3_stmt* statement, sqlite3_stmt* row) {
  std::vector<QueryColumn> columns;
  for (int i = 0; i < sqlite3_column_count(statement); ++i) {
    auto text = [](const char* known) { return std::string(known == nullptr ? "" : known); };
    columns.push_back({text(sqlite3_column_name(statement, i)), kindOf(statement, i, row),
                       text(sqlite3_column_table_name(statement, i)),
                       text(sqlite3_column_origin_name(statement, i))});
  }
  return columns;
}

CellView cellOf(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(statement, column);
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_NULL:
      return std::monostate();
    default: {  // blobs come from casts only; they are shown as text
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      size_t size = static_cast<size_t>(sqlite3_column_bytes(statement, column));
      return text == nullptr ? std::string_view() : std::string_view(text, size);
    }
  }
}

uint64_t bytesOf(const CellView& cell) {
  const auto* text = std::get_if<std::string_view>(&cell);
  return 16 + (text == nullptr ? 0 : text->size());
}

base::Error stoppedError(const QueryLimits& limits) {
  base::Error error;
  error.kind = base::ErrorKind::kLimit;
  error.what = limits.stop.stop_requested()
                   ? "the query was cancelled"
                   : fmt::format("the query ran longer than {} ms", limits.milliseconds);
  if (!limits.stop.stop_requested()) error.hint = "Narrow the query, or allow more time.";
  return error;
}

class Collector : public RowSink {
 public:
  explicit Collector(QueryResult* result) : result_(result) {}
  void onColumns(const std::vector<QueryColumn>& columns) override { result_->columns = columns; }
  void onRow(std::span<const CellView> cells) override {
    std::vector<Cell>& row = result_->rows.emplace_back();
    row.reserve(cells.size());
    for (const CellView& cell : cells) {
      std::visit(
          [&](const auto& value) {
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<T, std::string_view>) {
              row.emplace_back(std::string(value));
            } else {
              row.emplace_back(value);
            }
          },
          cell);
    }
  }

 private:
  QueryResult* result_;
};

}  // namespace

Database::Database(const AnalysedTrace& trace, const Scope& scope, const Whole& whole)
    : trace_(trace), tables_(allTables(trace, whole)) {
  for (Table& table : tables_) restrict(table, scope);
  functions_ = tableFunctions(trace, tables_);
  for (const Table& table : tables_) schema_.tables.push_back(table.describe());
  for (const TableFunction& function : functions_) {
    FunctionDoc doc{function.signature(), function.doc};
    if (function.own_shape) doc.columns = function.shape->describe().columns;
    schema_.functions.push_back(std::move(doc));
  }
  for (FunctionDoc& doc : scalarFunctionDocs()) schema_.functions.push_back(std::move(doc));
  schema_.questions = workedQuestions();
}

std::vector<VirtualTableSource> Database::sources(ScanContext& context) const {
  std::vector<VirtualTableSource> sources;
  sources.reserve(tables_.size() + functions_.size());
  for (const Table& table : tables_) sources.push_back({&context, &table, nullptr});
  for (const TableFunction& function : functions_) {
    sources.push_back({&context, function.shape, &function});
  }
  return sources;
}

base::Result<Database::Reads> Database::readsOf(const std::string& sql) const {
  Deadline deadline{Clock::now() + std::chrono::seconds(1), {}};
  ScanContext context{*orders_, deadline};
  std::vector<VirtualTableSource> known = sources(context);  // outlives the connection
  TG_ASSIGN_OR_RETURN(Connection connection, Connection::open(known, trace_, context));
  TG_RETURN_IF_ERROR(connection.prepare(sql, schema_));
  return Reads{connection.tablesRead(), connection.columnsRead()};
}

base::Result<bool> Database::asksWholeRecording(const std::string& sql) const {
  TG_ASSIGN_OR_RETURN(Reads reads, readsOf(sql));
  const std::set<std::string>& read = reads.tables;
  return !read.empty() && std::all_of(read.begin(), read.end(), [&](const std::string& name) {
    return std::any_of(tables_.begin(), tables_.end(), [&](const Table& table) {
      return table.of_recording && table.name == name;
    });
  });
}

base::Result<bool> Database::readsEventsAlone(const std::string& sql) const {
  TG_ASSIGN_OR_RETURN(Reads reads, readsOf(sql));
  return reads.tables == std::set<std::string>{"events"} &&
         !reads.columns.contains("events.allocation_id") &&
         !reads.columns.contains("events.segment_id");
}

base::Result<QuerySummary> Database::stream(const std::string& sql, const QueryLimits& limits,
                                            RowSink& sink) const {
  Clock::time_point start = Clock::now();
  Deadline deadline{start + std::chrono::milliseconds(limits.milliseconds), limits.stop};
  ScanContext context{*orders_, deadline};
  std::vector<VirtualTableSource> known = sources(context);  // outlives the connection
  TG_ASSIGN_OR_RETURN(Connection connection, Connection::open(known, trace_, context));
  TG_ASSIGN_OR_RETURN(Statement statement, connection.prepare(sql, schema_));

  std::unique_ptr<Shortcut> shortcut;
  if (limits.shortcut) {
    shortcut = Shortcut::open(sql, tables_, trace_, schema_, connection, deadline);
  }
  sqlite3_stmt* row = shortcut ? shortcut->rows() : statement.get();
  if (row == nullptr) return stoppedError(limits);

  QuerySummary summary;
  summary.shortcut = shortcut != nullptr;
  std::vector<CellView> cells(static_cast<size_t>(sqlite3_column_count(statement.get())));
  uint64_t bytes = 0;
  bool columns_sent = false;
  int rc = SQLITE_ROW;
  while ((rc = sqlite3_step(row)) == SQLITE_ROW) {
    if (!columns_sent) sink.onColumns(columnsOf(statement.get(), row));
    columns_sent = true;
    for (size_t i = 0; i < cells.size(); ++i) {
      cells[i] = cellOf(row, static_cast<int>(i));
      bytes += bytesOf(cells[i]);
    }
    summary.truncated = summary.rows >= limits.rows || bytes > limits.bytes;
    if (summary.truncated) break;
    sink.onRow(cells);
    ++summary.rows;
  }
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
    if (rc == SQLITE_INTERRUPT) return stoppedError(limits);
    return explainError(shortcut ? shortcut->db() : connection.get(), rc, sql, schema_);
  }
  if (!columns_sent) sink.onColumns(columnsOf(statement.get(), nullptr));
  summary.elapsed_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return summary;
}

base::Result<QueryResult> Database::run(const std::string& sql, const QueryLimits& limits) const {
  QueryResult result;
  Collector collector(&result);
  TG_ASSIGN_OR_RETURN(result.summary, stream(sql, limits, collector));
  return result;
}

}  // namespace tidegauge::query
