// The conditions of a statement as filters of a scan. SQLite evaluates the constants.
#pragma once

#include <sqlite3.h>

#include <optional>
#include <vector>

#include "query/aggregates/statement.h"
#include "query/scan/row_filter.h"

namespace tidegauge::query {

// At most one filter per column; a row passes all of them exactly if SQLite would take it. Absent
// if the columns' keys cannot decide one of the conditions.
std::optional<std::vector<RowFilter>> filtersOf(const AggregateStatement& statement, sqlite3* db);

}  // namespace tidegauge::query
