// Groups as a table of SQL: the columns of their table, of which those that are grouped by have
// values, and a hidden column for each call ("tg#0").
#pragma once

#include "query/aggregates/compute.h"
#include "query/aggregates/statement.h"
#include "query/scan/table.h"

namespace tidegauge::query {

// In SQLite's order.
Table groupTable(const AggregateStatement& statement, Groups groups);

}  // namespace tidegauge::query
