#include "query/scan/table.h"

namespace tidegauge::query {

std::string_view name(ColumnKind kind) {
  constexpr std::string_view kNames[] = {"integer", "real", "text", "bytes", "step", "time"};
  return kNames[static_cast<size_t>(kind)];
}

int compareValues(const Column& column, int64_t a, int64_t b) {
  if (a == b) return 0;
  if (!column.isText() || a == kNull || b == kNull) return a < b ? -1 : 1;
  std::string scratch_a, scratch_b;
  return column.text(a, scratch_a).compare(column.text(b, scratch_b));
}

int Table::findColumn(std::string_view column_name) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column_name) return static_cast<int>(i);
  }
  return -1;
}

int64_t Table::key(int column, Row row) const {
  int64_t key = kNull;
  columns[static_cast<size_t>(column)].fill(&row, 1, &key);
  return key;
}

TableDoc Table::describe() const {
  TableDoc described{name, doc, rows, {}, only_recordings};
  for (const Column& column : columns) {
    described.columns.push_back({column.name, column.kind, column.doc, column.hidden});
  }
  return described;
}

}  // namespace tidegauge::query
