// A table of SQL (query/scan/table.h) as Arrow columns.
//
//   a column as stored (addresses, sizes, times, lives)  the trace's own vector, no copy
//   other numbers                                        filled from their keys
//   texts                                                codes of a dictionary
//
// Cost: 1 to 5 ns per row and column; nothing for those as stored but a look for NULLs.
#pragma once

#include <memory>

#include "python/arrow/rows.h"
#include "query/scan/table.h"

namespace tidegauge::python {

// `owner` keeps the table and its trace alive.
std::shared_ptr<const Rows> rowsOf(const query::Table& table, std::shared_ptr<const void> owner,
                                   uint64_t narrow_bytes = kNarrowTextBytes);

}  // namespace tidegauge::python
