// TableTails: reads the rows of a growing file's tables that were not read before.
//
//   tails.beginLook(200'000);                          at most that many rows in this look
//   tails.read(file, "calls", "call_id", "call_id, size_bytes", take);    rows 0 … 5
//   tails.read(file, "calls", …)                                          rows 6 … 9
//   tails.of("calls").isBehind()                       whether rows are left for the next look
//
// Cost: one SELECT max() and one SELECT per table and look; O(new rows).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>

#include "base/result.h"
#include "readers/recording/file/sqlite_file.h"

namespace tidegauge::readers::recording {

struct TableTail {
  int64_t last = -1;  // row that was read
  int64_t end = -1;   // the table's last row when this look began
  bool isBehind() const { return last < end; }
};

class TableTails {
 public:
  void beginLook(uint64_t max_rows) { room_ = max_rows; }
  // `key`: the column that numbers the rows. take(row) gets `columns` in their order, from 0.
  base::Status read(SqliteFile& file, std::string_view table, std::string_view key,
                    std::string_view columns, const std::function<void(Row&)>& take);
  // In take() of read(): `last` is the row at hand.
  TableTail of(std::string_view table) const;

 private:
  std::map<std::string_view, TableTail> tails_;  // by table: names are literals
  uint64_t room_ = 0;                            // rows that this look may still read
};

}  // namespace tidegauge::readers::recording
