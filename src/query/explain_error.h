// SQLite's error about an invalid query, with a correction.
//
//   no such column: stpe      events has: device, step, action, …; did you mean step?
//   no such table: event      tables: devices, events, …; did you mean events?
//   not authorized            only SELECT, WITH and EXPLAIN can run: this is a read-only view …
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
