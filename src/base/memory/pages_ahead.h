// PagesAhead: takes the pages of columns that grow, many at a time, shortly before they are filled.
// A page that is taken when it is first written costs a fault of its own, half as much again.
//
//   PagesAhead ahead;
//   ahead.upTo(rows, addresses, sizes);      before each append; mostly it does nothing
//   addresses.resize(rows); sizes.resize(rows);
//
// Columns must have their capacity already: memory beyond it is not touched. Cost: a system call
// per column and 16,384 rows; at most that many rows more than needed. Source: madvise(2),
// MADV_POPULATE_WRITE. Before Linux 5.14 it does nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/memory/memory.h"

namespace tidegauge::base {

class PagesAhead {
 public:
  template <class... Values>
  void upTo(size_t rows, std::vector<Values>&... columns) {
    if (rows <= taken_) return;
    // Small inputs take twice what they need at most.
    size_t next = rows + std::min(rows, kMostAhead);
    (take(columns, next), ...);
    taken_ = next;
  }

 private:
  static constexpr size_t kMostAhead = size_t{1} << 14;

  template <class Value>
  void take(std::vector<Value>& column, size_t end) const {
    size_t begin = std::max(taken_, column.size());
    end = std::min(end, column.capacity());
    if (begin < end) takePages(column.data() + begin, (end - begin) * sizeof(Value));
  }

  size_t taken_ = 0;  // rows
};

}  // namespace tidegauge::base
