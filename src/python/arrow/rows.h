// Rows with columns of one type each: what a Python table shows, and what a stream hands on.
//
//   Rows ─► streamOf(rows, {"step", "size_bytes"}) ─► ArrowArrayStream of batches
//
// Thread-safe: nothing changes but caches with a lock of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "python/arrow/column.h"

namespace tidegauge::python {

class Rows {
 public:
  virtual ~Rows() = default;
  virtual uint64_t count() const = 0;
  virtual const std::vector<Field>& fields() const = 0;
  // Rows [begin, begin + length) of a field; `begin` is a multiple of 8.
  virtual Column column(size_t field, uint64_t begin, uint64_t length) const = 0;
  // Columns that are not among those shown unless they are named.
  virtual bool isHidden(size_t field) const = 0;
};

// A batch is the whole table unless that is very long.
inline constexpr uint64_t kBatchRows = uint64_t{1} << 24;

// `fields`: indexes, in the order wanted. The stream keeps `rows` alive. `batch_rows`: a multiple
// of 8; tests make it small.
void exportStream(std::shared_ptr<const Rows> rows, std::vector<size_t> fields,
                  ArrowArrayStream* out, uint64_t batch_rows = kBatchRows);

}  // namespace tidegauge::python
