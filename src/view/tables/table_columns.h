// Columns of a view::Table over rows of any struct, stored with the table:
//
//   Columns<KernelRow> columns(table, std::move(rows));
//   columns.number("launches", CellKind::kCount, [](const KernelRow& r) { return … });
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "view/tables/table.h"

namespace tidegauge::view {

using Number = std::optional<int64_t>;
inline Number numberOf(uint64_t value) { return static_cast<int64_t>(value); }

template <class T>
class Columns {
 public:
  Columns(Table& table, std::vector<T> rows)
      : table_(table), rows_(std::make_shared<const std::vector<T>>(std::move(rows))) {
    table_.rows = static_cast<uint32_t>(rows_->size());
  }
  template <class F>
  void number(std::string_view name, CellKind kind, F value) {
    table_.columns.push_back({name, kind, [rows = rows_, value](uint32_t row) -> Number {
                                return value((*rows)[row]);
                              }});
  }
  template <class F>
  void text(std::string_view name, F value) {
    table_.columns.push_back({name, CellKind::kText, nullptr,
                              [rows = rows_, value](uint32_t row) { return value((*rows)[row]); }});
  }

 private:
  Table& table_;
  std::shared_ptr<const std::vector<T>> rows_;
};

}  // namespace tidegauge::view
