// Functions that Tidegauge adds to SQLite's: stack_text, human_bytes, hex_address, address_id,
// median, percentile, and table-valued ones: live_at, blocks_at, and the analyses of
// answer_tables.h. Arguments of the wrong kind are errors, never an empty answer; NULL gives NULL.
#pragma once

#include <sqlite3.h>

#include <vector>

#include "query/scan/schema.h"
#include "query/tables/tables.h"

namespace tidegauge::query {

// Shared by the functions of one connection; must outlive it.
struct FunctionContext {
  const AnalysedTrace& trace;
  uint64_t sampled = 0;  // values that median and percentile currently store
};

void registerFunctions(sqlite3* db, FunctionContext& context);
std::vector<FunctionDoc> scalarFunctionDocs();

// The parts of registerFunctions.
void registerAggregates(sqlite3* db, FunctionContext& context);
// printf, format, trim, ltrim and rtrim as in SQLite, but bounded: SQLite's own cannot be
// interrupted and may take hours (printf('%.*c', 1e9, 'x')).
void registerBoundedFunctions(sqlite3* db);

// `tables` must contain "allocations" and "blocks", and must not move afterwards.
std::vector<TableFunction> tableFunctions(const AnalysedTrace& trace,
                                          const std::vector<Table>& tables);

// The device that an argument names; errors list the existing ones.
base::Result<const analysis::DeviceAnalysis*> deviceAt(const AnalysedTrace& trace, int64_t ordinal);

// The step that an argument names: beyond the end it is the last state, a negative one is an error.
base::Result<model::Step> stepOf(int64_t step);
// −1: the state before the first event.
base::Result<analysis::Peak> placeOf(int64_t step);

}  // namespace tidegauge::query
