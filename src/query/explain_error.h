// SQLite's error about an invalid query, with a correction.
//
//   no such column: stpe      events has the columns device, step, …. Did you mean step?
//   no such table: event      The tables are: devices, events, …. Did you mean events?
//   no such function: pins    pins(device, step) takes 2 arguments and returns a table. …
//   not authorized            a query cannot change the file. Use SELECT, WITH or EXPLAIN.
#pragma once

#include <sqlite3.h>

#include <string_view>

#include "base/result.h"
#include "query/scan/schema.h"

namespace tidegauge::query {

// The latest error of the connection. byte_offset is a position in `sql`.
base::Error explainError(sqlite3* db, int code, std::string_view sql, const Schema& schema);

base::Error readOnlyError();

}  // namespace tidegauge::query
