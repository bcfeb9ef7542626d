// Rows of a query as text: an aligned table, CSV (base/csv.h), or a JSON array of objects.
//
//   action         events         bytes
//   ─────────────  ──────  ────────────
//   alloc           4,…
//
// Every writer streams rows; only the table stores them, to compute the widths of its columns.
#pragma once

#include <memory>
#include <string>

#include "cli/options/output.h"
#include "query/database.h"

namespace tidegauge::cli {

enum class QueryFormat : uint8_t { kTable, kCsv, kJson };

class QueryWriter : public query::RowSink {
 public:
  virtual void finish() = 0;  // once, after the last row
};

struct QueryStyle {
  QueryFormat format = QueryFormat::kTable;
  size_t columns = 0;  // width of the terminal; 0: none, nothing is cut
};

std::unique_ptr<QueryWriter> makeQueryWriter(const QueryStyle& style, Output& out);

// What `tidegauge query FILE` prints: tables with their rows and columns, functions.
void printSchema(const query::Schema& schema, size_t columns, Output& out);

}  // namespace tidegauge::cli
