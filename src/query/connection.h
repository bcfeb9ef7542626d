// An SQLite connection that can do one thing: read our tables.
//
// Behind it is an empty database in memory. Nothing may be written, attached, loaded or set (an
// authorizer refuses), texts, expressions and time are bounded.
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

// What the authorizer knows.
struct Access {
  std::set<std::string, std::less<>> readable{"json_each", "json_tree"};
  const ScanContext* context = nullptr;
  // What the statements read: tables, and columns and functions whose answer is one process's own.
  std::set<std::string> read{};
};

class Connection {
 public:
  // All three must outlive the connection.
  static base::Result<Connection> open(const std::vector<VirtualTableSource>& sources,
                                       const AnalysedTrace& trace, ScanContext& context);

  // Exactly one statement that reads.
  base::Result<Statement> prepare(std::string_view sql, const Schema& schema);
  sqlite3* get() const { return db_.get(); }
  const std::set<std::string>& tablesRead() const { return access_->read; }

 private:
  explicit Connection(sqlite3* db) : db_(db) {}

  std::unique_ptr<Access> access_;              // the authorizer points here
  std::unique_ptr<FunctionContext> functions_;  // … and the functions here
  std::unique_ptr<sqlite3, CloseDatabase> db_;
};

}  // namespace tidegauge::query
