// The C callbacks through which SQLite reads Tidegauge's tables and table-valued functions.
#pragma once

#include <sqlite3.h>

#include "base/result.h"
#include "query/scan/scan.h"
#include "query/tables/tables.h"

namespace tidegauge::query {

// Shared by a connection's tables; must outlive the connection.
struct ScanContext {
  OrderCache& orders;
  const Deadline& deadline;
  bool declaring = false;  // SQLite is reading the shape of a table, see Connection's authorizer
};

// One table or one function, as SQLite's client data; must outlive the connection.
struct VirtualTableSource {
  ScanContext* context = nullptr;
  const Table* table = nullptr;             // of a function: its columns
  const TableFunction* function = nullptr;  // null for a table
};

base::Status registerVirtualTable(sqlite3* db, const VirtualTableSource& source);

// "STEP INTEGER" as declared to SQLite, and back from sqlite3_column_decltype.
std::string declaredType(ColumnKind kind);
bool kindOfDeclaredType(const char* declared, ColumnKind* kind);

}  // namespace tidegauge::query
