// The rows of a query, collected column by column.
//
//   1, 2.5, NULL   ─► double         1, 2, NULL ─► int64          1, "a" ─► text "1", "a"
//
// SQL has a type per value, Arrow one per column: integers beside reals become reals, and numbers
// beside texts become texts. Cost: 9 bytes per value, and the texts.
#pragma once

#include <memory>

#include "python/arrow/rows.h"
#include "query/database.h"

namespace tidegauge::python {

class ResultCollector : public query::RowSink {
 public:
  explicit ResultCollector(uint64_t narrow_bytes = kNarrowTextBytes);
  ~ResultCollector() override;
  void onColumns(const std::vector<query::QueryColumn>& columns) override;
  void onRow(std::span<const query::CellView> cells) override;
  std::shared_ptr<const Rows> finish() &&;

 private:
  struct Collected;
  std::vector<Collected> columns_;
  uint64_t rows_ = 0;
  uint64_t narrow_bytes_;  // of texts, TextBuilder
};

}  // namespace tidegauge::python
