// Functions of our own beside SQLite's: stack_text, human_bytes, address_id, median, percentile,
// and those that return tables: live_at, blocks_at.
#pragma once

#include <sqlite3.h>

#include <vector>

#include "query/schema.h"
#include "query/tables.h"

namespace tidegauge::query {

// The trace must outlive the connection.
void registerFunctions(sqlite3* db, const AnalysedTrace& trace);
std::vector<FunctionDoc> scalarFunctionDocs();

// `tables` must hold "allocations" and "blocks", and must not move afterwards.
std::vector<TableFunction> tableFunctions(const AnalysedTrace& trace,
                                          const std::vector<Table>& tables);

}  // namespace tidegauge::query
