#include "query/shortcut.h"

#include <algorithm>
#include <utility>

#include "query/aggregates/compute.h"
#include "query/aggregates/filters.h"
#include "query/aggregates/group_table.h"
#include "query/aggregates/statement.h"

namespace tidegauge::query {
namespace {

// A column of each row of an EXPLAIN.
std::vector<std::string> explained(sqlite3* db, const std::string& sql, int column) {
  sqlite3_stmt* raw = nullptr;
  int rc = sqlite3_prepare_v2(db, sql.c_str(), static_cast<int>(sql.size()), &raw, nullptr);
  Statement statement(raw);
  std::vector<std::string> texts;
  while (rc == SQLITE_OK && sqlite3_step(raw) == SQLITE_ROW) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(raw, column));
    texts.emplace_back(text == nullptr ? "" : text);
  }
  return texts;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Would SQLite read the rows of a group in their order?
bool readsInRowOrder(sqlite3* db, const std::string& sql) {
  constexpr int kDetail = 3;
  std::vector<std::string> details = explained(db, "EXPLAIN QUERY PLAN " + sql, kDetail);
  return std::none_of(details.begin(), details.end(), [](const std::string& detail) {
    return contains(detail, "backwards") || contains(detail, "descending");
  });
}

// Aggregates that were not replaced would count groups instead of rows.
bool aggregates(sqlite3* db, const std::string& sql) {
  constexpr int kOpcode = 1;
  std::vector<std::string> codes = explained(db, "EXPLAIN " + sql, kOpcode);
  return codes.empty() || std::any_of(codes.begin(), codes.end(), [](const std::string& code) {
           return code.starts_with("Agg");
         });
}

// Only what groups have: other columns differ from row to row.
bool readsGroupsAlone(const Connection& connection, const AggregateStatement& statement) {
  const Table& table = *statement.table;
  const std::set<std::string>& read = connection.columnsRead();
  return std::all_of(read.begin(), read.end(), [&](const std::string& column) {
    std::string_view name = std::string_view(column).substr(table.name.size() + 1);
    bool grouped = std::any_of(statement.groups.begin(), statement.groups.end(), [&](int group) {
      return table.columns[static_cast<size_t>(group)].name == name;
    });
    return grouped || name.empty() || isNameOfCall(name);
  });
}

}  // namespace

std::unique_ptr<Shortcut> Shortcut::open(const std::string& sql, const std::vector<Table>& tables,
                                         const AnalysedTrace& trace, const Schema& schema,
                                         const Connection& connection, const Deadline& deadline) {
  std::optional<AggregateStatement> statement = recognise(sql, tables);
  if (!statement) return nullptr;
  std::optional<std::vector<RowFilter>> filters = filtersOf(*statement, connection.get());
  if (!filters) return nullptr;

  // Still without groups: is the rest a statement over groups alone?
  std::unique_ptr<Shortcut> shortcut(new Shortcut(deadline));
  if (!shortcut->prepareRest(*statement, trace, schema)) return nullptr;

  Groups groups;
  bool in_row_order = readsInRowOrder(connection.get(), sql);
  switch (computeGroups(*statement, *filters, in_row_order, deadline, groups)) {
    case Computing::kDeclined:
      return nullptr;
    case Computing::kTimedOut:
      shortcut->rows_.reset();
      return shortcut;
    case Computing::kDone:
      break;
  }
  shortcut->groups_ = groupTable(*statement, std::move(groups));
  return shortcut;
}

bool Shortcut::prepareRest(const AggregateStatement& statement, const AnalysedTrace& trace,
                           const Schema& schema) {
  Groups none;
  none.keys.resize(statement.groups.size());
  none.values.resize(statement.calls.size());
  groups_ = groupTable(statement, std::move(none));
  sources_ = {{&context_, &groups_, nullptr}};
  base::Result<Connection> connection = Connection::open(sources_, trace, context_);
  if (!connection.ok()) return false;
  connection_ = std::make_unique<Connection>(std::move(connection).value());
  base::Result<Statement> rows = connection_->prepare(statement.rest, schema);
  if (!rows.ok() || !readsGroupsAlone(*connection_, statement) ||
      aggregates(connection_->get(), statement.rest)) {
    return false;
  }
  rows_ = std::move(rows).value();
  return true;
}

}  // namespace tidegauge::query
