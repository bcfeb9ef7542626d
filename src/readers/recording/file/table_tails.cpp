#include "readers/recording/file/table_tails.h"

#include <fmt/format.h>

#include <algorithm>

namespace tidegauge::readers::recording {

base::Status TableTails::read(SqliteFile& file, std::string_view table, std::string_view key,
                              std::string_view columns, const std::function<void(Row&)>& take) {
  TableTail& tail = tails_[table];
  TG_RETURN_IF_ERROR(file.forEachRow(
      fmt::format("SELECT max({}) FROM {} NOT INDEXED", key, table).c_str(), [&](Row& row) {
        tail.end = row.maybeInteger(0).value_or(-1);
        return true;
      }));
  if (!tail.isBehind() || room_ == 0) return base::okStatus();
  // The key comes last, so that take() counts its columns from 0.
  std::string sql =
      fmt::format("SELECT {}, {} FROM {} NOT INDEXED WHERE {} > {} ORDER BY {} LIMIT {}", columns,
                  key, table, key, tail.last, key, room_);
  int key_column = static_cast<int>(std::count(columns.begin(), columns.end(), ',')) + 1;
  uint64_t rows = 0;
  base::Status status = file.forEachRow(sql.c_str(), [&](Row& row) {
    ++rows;
    tail.last = row.integer(key_column);
    take(row);
    return true;
  });
  if (rows < room_ && status.ok()) tail.last = tail.end;
  room_ -= std::min(room_, rows);
  return status;
}

TableTail TableTails::of(std::string_view table) const {
  auto found = tails_.find(table);
  return found == tails_.end() ? TableTail() : found->second;
}

}  // namespace tidegauge::readers::recording
