// An SQLite connection that can do one thing: read Tidegauge's tables.
//
// It opens an empty database in memory. An authorizer refuses to write, attach, load or set
// anything; texts, expressions and time are bounded.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/functions/functions.h"
#include "query/scan/schema.h"
#include "query/virtual_table.h"

namespace tidegauge::query {

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// The state of the authorizer.
struct Access {
  std::set<std::string, std::less<>> readable{"json_each", "json_tree"};
  const ScanContext* context = nullptr;
  // What the statements read: tables, and columns and functions whose answer depends on one
  // process.
  std::set<std::string> read{};
  std::set<std::string> columns{};  // "events.step"; without a column it is only counted
};

class Connection {
 public:
  // All three must outlive the connection.
  static base::Result<Connection> open(const std::vector<VirtualTableSource>& sources,
                                       const AnalysedTrace& trace, ScanContext& context);

  // Exactly one statement that only reads.
  base::Result<Statement> prepare(std::string_view sql, const Schema& schema) const;
  sqlite3* get() const { return db_.get(); }
  const std::set<std::string>& tablesRead() const { return access_->read; }
  const std::set<std::string>& columnsRead() const { return access_->columns; }

 private:
  explicit Connection(sqlite3* db) : db_(db) {}

  std::unique_ptr<Access> access_;              // the authorizer points here
  std::unique_ptr<FunctionContext> functions_;  // … and the functions here
  std::unique_ptr<sqlite3, CloseDatabase> db_;
};

}  // namespace tidegauge::query
