// What SQLite says about a bad query, with what would be right.
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

// The error that the connection met last. byte_offset is the place in `sql`.
base::Error explainError(sqlite3* db, int code, std::string_view sql, const Schema& schema);

base::Error readOnlyError();

}  // namespace tidegauge::query
