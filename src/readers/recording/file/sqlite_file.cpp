#include "readers/recording/file/sqlite_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <set>

#include "base/utf8.h"
#include "readers/recording/file/journal.h"

namespace tidegauge::readers::recording {
namespace {

using base::Error;
using base::ErrorKind;

constexpr int kMaxTextBytes = 1 << 20;
// A row of any Tidegauge table takes more bytes than this in a file.
constexpr uint64_t kMinRowBytes = 4;

void bound(sqlite3* db) {
  constexpr std::pair<int, int> kLimits[] = {
      {SQLITE_LIMIT_LENGTH, kMaxTextBytes}, {SQLITE_LIMIT_COLUMN, 200},
      {SQLITE_LIMIT_EXPR_DEPTH, 50},        {SQLITE_LIMIT_ATTACHED, 0},
      {SQLITE_LIMIT_TRIGGER_DEPTH, 1},      {SQLITE_LIMIT_WORKER_THREADS, 0}};
  for (auto [limit, value] : kLimits) sqlite3_limit(db, limit, value);
  constexpr std::pair<int, int> kOptions[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                              {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                              {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                              {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                              // a reader neither checkpoints nor removes the
                                              // journal
                                              {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
                                              {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}};
  for (auto [option, value] : kOptions) sqlite3_db_config(db, option, value, nullptr);
}

// "file:" and a path without special characters.
std::string uriOf(const std::string& path, const char* options) {
  std::string uri = "file:";
  if (!path.starts_with('/')) uri += "./";
  for (char c : path) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '/' || c == '.' || c == '-' || c == '_';
    if (plain) {
      uri += c;
    } else {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
  }
  return uri + options;
}

uint64_t bytesOf(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? static_cast<uint64_t>(file.st_size) : 0;
}

}  // namespace

std::span<const uint8_t> Row::bytes(int column, size_t most) {
  int type = sqlite3_column_type(statement_, column);
  if (type == SQLITE_NULL) return {};
  const auto* data = static_cast<const uint8_t*>(sqlite3_column_blob(statement_, column));
  auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  if (type != SQLITE_BLOB || size > most) {
    is_bad_ = true;
    return {};
  }
  return {data, size};
}

std::string Row::text(int column) {
  int type = sqlite3_column_type(statement_, column);
  if (type == SQLITE_NULL) return {};
  if (type != SQLITE_TEXT) {
    is_bad_ = true;
    return {};
  }
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return base::repairedUtf8({text, static_cast<size_t>(sqlite3_column_bytes(statement_, column))});
}

int64_t Row::decimal(int column) {
  std::string digits = text(column);
  int64_t value = 0;
  const char* last = digits.data() + digits.size();
  auto [end, error] = std::from_chars(digits.data(), last, value);
  if (error == std::errc() && end == last && value >= 0) return value;
  is_bad_ = true;
  return 0;
}

base::Result<SqliteFile> SqliteFile::open(const std::string& path) {
  uint64_t bytes = bytesOf(path) + bytesOf(path + "-wal");
  auto file = openWith(path, "?mode=ro", false, bytes);
  if (file.ok()) return file;
  // A journal without an index, where none can be created: read-only media, or another user's
  // folder. If nothing writes, the index can be created in memory, without locks. The locks of a
  // recorder whose file could not be opened just now must be respected.
  if (auto held = heldFile(path); held != nullptr && held->hasWriter()) return file;
  auto alone = openWith(path, "?mode=ro&vfs=unix-none", true, bytes);
  if (alone.ok()) return alone;
  return file;
}

base::Result<SqliteFile> SqliteFile::openWith(const std::string& path, const char* options,
                                              bool alone, uint64_t file_bytes) {
  sqlite3* db = nullptr;
  int rc = sqlite3_open_v2(uriOf(path, options).c_str(), &db,
                           SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteFile file(path, db, file_bytes);
  if (rc != SQLITE_OK) return Error{ErrorKind::kUnreadable, sqlite3_errstr(rc), std::nullopt, ""};
  bound(db);
  sqlite3_busy_timeout(db, 3000);
  std::string begin = "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA query_only = ON;";
  if (alone) begin += "PRAGMA locking_mode = EXCLUSIVE;";
  begin += "BEGIN; SELECT count(*) FROM sqlite_schema;";
  if (sqlite3_exec(db, begin.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return file.error();
  if (file.index_ == nullptr) file.index_ = heldFile(path + "-shm");  // it may be new
  return file;
}

base::Error SqliteFile::error() const {
  int code = sqlite3_errcode(db_.get()) & 0xff;
  std::string hint;
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
    hint = "Copy it again, together with its -wal file if one exists.";
  }
  if (code == SQLITE_BUSY) hint = "Another program has locked it. Try again.";
  return {ErrorKind::kUnreadable, sqlite3_errmsg(db_.get()), std::nullopt, hint};
}

base::Status SqliteFile::require(std::string_view table,
                                 std::initializer_list<std::string_view> columns) {
  bool plain = false;
  TG_RETURN_IF_ERROR(forEachRow(
      fmt::format("SELECT type FROM pragma_table_list('{}') WHERE schema = 'main'", table).c_str(),
      [&](Row& row) {
        plain = row.text(0) == "table";
        return true;
      }));
  std::set<std::string, std::less<>> found;
  if (plain) {
    TG_RETURN_IF_ERROR(
        forEachRow(fmt::format("SELECT name, hidden FROM pragma_table_xinfo('{}')", table).c_str(),
                   [&](Row& row) {
                     if (row.integer(1) == 0) found.emplace(row.text(0));
                     return true;
                   }));
  }
  for (std::string_view column : columns) {
    if (found.contains(column)) continue;
    return Error{ErrorKind::kUnreadable,
                 plain ? fmt::format("table {} has no plain column {}", table, column)
                       : fmt::format("there is no plain table {}", table),
                 std::nullopt, "The file was changed, or it is not a recording."};
  }
  return base::okStatus();
}

bool SqliteFile::isCutShort() {
  if (file_ == nullptr || file_->hasWriter()) return false;
  auto number = [this](const char* sql) {
    int64_t found = 0;
    (void)forEachRow(sql, [&](Row& row) {
      found = row.integer(0);
      return false;
    });
    return found;
  };
  int64_t page_bytes = number("PRAGMA page_size"), pages = number("PRAGMA page_count");
  struct stat file {};
  if (page_bytes <= 0 || ::fstat(file_->descriptor(), &file) != 0 || file.st_size % page_bytes == 0)
    return false;
  int64_t first_missing = file.st_size / page_bytes + 1;
  if (first_missing > pages || pages > UINT32_MAX) return true;
  return !journalHolds(path_ + "-wal", static_cast<uint32_t>(first_missing),
                       static_cast<uint32_t>(pages));
}

bool SqliteFile::has(std::string_view table) {
  bool found = false;
  (void)forEachRow(
      fmt::format("SELECT 1 FROM pragma_table_list('{}') WHERE schema = 'main'", table).c_str(),
      [&](Row&) {
        found = true;
        return false;
      });
  return found;
}

base::Status SqliteFile::forEachRow(const char* sql, const std::function<bool(Row&)>& visit) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(db_.get(), sql, -1, &made, nullptr) != SQLITE_OK) return error();
  auto finalize = [](sqlite3_stmt* statement) { sqlite3_finalize(statement); };
  std::unique_ptr<sqlite3_stmt, decltype(finalize)> statement(made, finalize);
  uint64_t most_rows = file_bytes_ / kMinRowBytes + 1000;
  for (uint64_t rows = 0;; ++rows) {
    int rc = sqlite3_step(made);
    if (rc == SQLITE_DONE) return base::okStatus();
    if (rc != SQLITE_ROW) return error();
    if (rows >= most_rows) {
      return Error{ErrorKind::kLimit, "a table has more rows than the file can hold", std::nullopt,
                   "The file is damaged, because the recorder does not write such tables."};
    }
    Row row(made);
    if (!visit(row)) return base::okStatus();
  }
}

}  // namespace tidegauge::readers::recording
