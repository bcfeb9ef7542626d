// SqliteFile: an SQLite file of unknown origin, opened for reading only.
//
//   TG_ASSIGN_OR_RETURN(SqliteFile file, SqliteFile::open("run.tgr"));
//   TG_RETURN_IF_ERROR(file.require("calls", {"call_id", "start_ns"}));
//   TG_RETURN_IF_ERROR(file.forEachRow("SELECT start_ns FROM calls", [](Row& row) {…}));
//
// Only plain tables are read, so no view, trigger, virtual table or generated column of the file
// runs anything. Texts are bounded; rows are bounded by the file's size, since a page that points
// to itself would be endless. All reads see the same moment of a growing file.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "readers/recording/file/held_file.h"

namespace tidegauge::readers::recording {

// One row of a result. A value of an unexpected type makes the row bad.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}

  // Calls on a value are cheaper than on a column; one connection is used by one thread at a time.
  int64_t integer(int column) {
    sqlite3_value* value = sqlite3_column_value(statement_, column);
    if (sqlite3_value_type(value) != SQLITE_INTEGER) is_bad_ = true;
    return sqlite3_value_int64(value);
  }
  uint64_t word(int column) { return static_cast<uint64_t>(integer(column)); }
  // A value outside of the range also makes the row bad.
  int64_t integer(int column, int64_t least, int64_t most) {
    int64_t value = integer(column);
    if (value < least || value > most) is_bad_ = true;
    return value;
  }
  std::optional<int64_t> maybeInteger(int column) {
    sqlite3_value* value = sqlite3_column_value(statement_, column);
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL) return std::nullopt;
    if (type != SQLITE_INTEGER) is_bad_ = true;
    return sqlite3_value_int64(value);
  }
  bool isNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  // A non-negative number, as text; anything else makes the row bad.
  int64_t decimal(int column);
  // At most `most` bytes, valid until the next row; NULL is empty.
  std::span<const uint8_t> bytes(int column, size_t most);
  std::string text(int column);  // always valid UTF-8; NULL is empty
  bool isBad() const { return is_bad_; }

 private:
  sqlite3_stmt* statement_;
  bool is_bad_ = false;
};

class SqliteFile {
 public:
  static base::Result<SqliteFile> open(const std::string& path);

  // Does a plain table with at least these columns exist? An error if not.
  base::Status require(std::string_view table, std::initializer_list<std::string_view> columns);
  bool has(std::string_view table);  // of any kind, by name
  // `visit` returns false to stop.
  base::Status forEachRow(const char* sql, const std::function<bool(Row&)>& visit);
  uint64_t fileBytes() const { return file_bytes_; }  // including the journal
  // It ends inside a page that the journal does not have, and nothing is writing it: SQLite reads
  // zeros in place of the rest.
  bool isCutShort();

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  SqliteFile(const std::string& path, sqlite3* db, uint64_t file_bytes)
      : path_(path),
        file_(heldFile(path)),
        index_(heldFile(path + "-shm")),
        db_(db),
        file_bytes_(file_bytes) {}
  static base::Result<SqliteFile> openWith(const std::string& path, const char* options, bool alone,
                                           uint64_t file_bytes);
  base::Error error() const;

  std::string path_;
  std::shared_ptr<const HeldFile> file_, index_;  // outlive the locks
  std::unique_ptr<sqlite3, Close> db_;
  uint64_t file_bytes_;
};

}  // namespace tidegauge::readers::recording
