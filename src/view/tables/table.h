// The page's tables: allocations, segments, stacks, phases, streams and named tensors of one
// device, sorted and filtered here, so that the page only stores the rows it shows.
//
//   table("stacks", filter)  →  columns with a number per row (and a text if it is one)
//   orderOf(table, "peak_bytes", descending)  →  rows in that order, cached by the caller
//
// Cost: allocations are not copied; the other tables are one pass over the allocations (stacks:
// two, and 4 bytes per allocation and step while it runs). Sorting is O(rows log rows), once per
// order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "view/filter/filter_set.h"

namespace tidegauge::view {

enum class CellKind : uint8_t {
  kId,
  kCount,
  kBytes,
  kSignedBytes,
  kStep,
  kTime,      // µs since the epoch
  kDuration,  // ns
  kRate,      // thousandths per second
  kBytesPerSecond,
  kAddress,
  kText,
};
std::string_view name(CellKind kind);  // "id", …

struct TableColumn {
  std::string_view name;
  CellKind kind;
  // The sort key; absent values sort last. Addresses are the same 64 bits. Text columns without it
  // sort by the text.
  std::function<std::optional<int64_t>(uint32_t row)> number;
  std::function<std::string(uint32_t row)> text = {};
};

struct Table {
  uint32_t rows = 0;
  std::vector<uint32_t> passing;  // the rows that pass the filter, if there is one
  bool filtered = false;
  std::vector<TableColumn> columns;

  const TableColumn* find(std::string_view column) const;
  uint32_t shown() const { return filtered ? static_cast<uint32_t>(passing.size()) : rows; }
};

// Absent if there is no table with that name. What it refers to must outlive it.
std::optional<Table> tableOf(const analysis::AnalysedTrace& analysed,
                             const analysis::DeviceAnalysis& device, std::string_view name,
                             const FilterSet* filter);
// Including those of work_tables.h.
inline constexpr std::string_view kTableNames =
    "allocations, segments, stacks, phases, streams, kernels, copies, tensors";

// The shown rows sorted by that column; ties in order of rows, absent values last.
std::vector<uint32_t> orderOf(const Table& table, const TableColumn& column, bool descending);

}  // namespace tidegauge::view
