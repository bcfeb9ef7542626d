#include "query/connection.h"

#include <fmt/format.h>

#include "query/explain_error.h"

namespace tidegauge::query {
namespace {

// Functions that reach beyond the query's rows, or only waste memory.
bool isForbiddenFunction(std::string_view name) {
  return name == "load_extension" || name == "fts3_tokenizer" || name == "writefile" ||
         name == "readfile" || name == "edit";
}

// For scalar functions: the answer depends on one process.
bool readsTrace(std::string_view name) { return name == "stack_text"; }

int authorize(void* data, int action, const char* first, const char* second, const char*,
              const char*) {
  auto text = [](const char* s) { return s == nullptr ? std::string_view() : std::string_view(s); };
  Access& access = *static_cast<Access*>(data);
  // A table is declared by a CREATE TABLE of Tidegauge's that never runs.
  if (access.context->declaring) return SQLITE_OK;
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_READ: {
      // Without a column, it is a common table expression, or a table that is only counted.
      bool known = access.readable.contains(text(first));
      if (known) access.read.emplace(text(first));
      if (known) access.columns.emplace(fmt::format("{}.{}", text(first), text(second)));
      if (text(second) == "is_this") access.read.emplace(text(second));
      return known || text(second).empty() ? SQLITE_OK : SQLITE_DENY;
    }
    case SQLITE_FUNCTION:
      if (readsTrace(text(second))) access.read.emplace(text(second));
      return isForbiddenFunction(text(second)) ? SQLITE_DENY : SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

int hasPassed(void* deadline) { return static_cast<const Deadline*>(deadline)->hasPassed(); }

constexpr int kMaxSqlBytes = 1 << 20;
// Per value: one call of a function on a value cannot be interrupted.
constexpr int kMaxValueBytes = 1 << 20;
// For all queries of the process together: sorting and collected results.
constexpr int64_t kMaxSqliteBytes = int64_t{1} << 30;

void setLimits(sqlite3* db) {
  constexpr std::pair<int, int> kLimits[] = {{SQLITE_LIMIT_LENGTH, kMaxValueBytes},
                                             {SQLITE_LIMIT_SQL_LENGTH, kMaxSqlBytes},
                                             {SQLITE_LIMIT_COLUMN, 500},
                                             {SQLITE_LIMIT_EXPR_DEPTH, 200},
                                             {SQLITE_LIMIT_COMPOUND_SELECT, 100},
                                             {SQLITE_LIMIT_VDBE_OP, 1'000'000},
                                             {SQLITE_LIMIT_FUNCTION_ARG, 100},
                                             {SQLITE_LIMIT_ATTACHED, 0},
                                             {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
                                             {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                                             {SQLITE_LIMIT_WORKER_THREADS, 0}};
  for (auto [limit, value] : kLimits) sqlite3_limit(db, limit, value);
}

void setOptions(sqlite3* db) {
  constexpr std::pair<int, int> kOptions[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                              {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                              {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                              {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                              {SQLITE_DBCONFIG_DQS_DML, 0},
                                              {SQLITE_DBCONFIG_DQS_DDL, 0},
                                              {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}};
  for (auto [option, value] : kOptions) sqlite3_db_config(db, option, value, nullptr);
  // Sorts up to this size in memory before a temporary file is used.
  sqlite3_exec(db, "PRAGMA cache_size = -131072", nullptr, nullptr, nullptr);
}

// True for SQL with only spaces, semicolons and comments. SQLite itself parses it.
bool isEmptySql(sqlite3* db, const char* sql, const char* end) {
  while (sql != nullptr && sql < end) {
    sqlite3_stmt* statement = nullptr;
    const char* tail = nullptr;
    int rc = sqlite3_prepare_v2(db, sql, static_cast<int>(end - sql), &statement, &tail);
    bool empty = rc == SQLITE_OK && statement == nullptr;
    sqlite3_finalize(statement);
    if (!empty) return false;
    if (tail == sql) break;
    sql = tail;
  }
  return true;
}

}  // namespace

base::Result<Connection> Connection::open(const std::vector<VirtualTableSource>& sources,
                                          const AnalysedTrace& trace, ScanContext& context) {
  static const int64_t previous_limit = sqlite3_hard_heap_limit64(kMaxSqliteBytes);
  (void)previous_limit;
  sqlite3* db = nullptr;
  int rc = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Connection connection(db);
  if (rc != SQLITE_OK) {
    return base::Error{base::ErrorKind::kMissingFeature,
                       fmt::format("SQLite cannot be opened: {}", sqlite3_errstr(rc)),
                       {},
                       {}};
  }
  setOptions(db);
  setLimits(db);
  connection.access_ = std::make_unique<Access>();
  connection.access_->context = &context;
  for (const VirtualTableSource& source : sources) {
    TG_RETURN_IF_ERROR(registerVirtualTable(db, source));
    connection.access_->readable.insert(source.function ? source.function->name
                                                        : source.table->name);
  }
  connection.functions_ = std::make_unique<FunctionContext>(FunctionContext{trace});
  registerFunctions(db, *connection.functions_);
  sqlite3_set_authorizer(db, authorize, connection.access_.get());
  constexpr int kStepsBetweenChecks = 2000;  // some 50 µs
  sqlite3_progress_handler(db, kStepsBetweenChecks, hasPassed,
                           const_cast<Deadline*>(&context.deadline));
  return connection;
}

base::Result<Statement> Connection::prepare(std::string_view sql, const Schema& schema) const {
  if (sql.size() > kMaxSqlBytes) {
    return base::Error{base::ErrorKind::kUsage, "the SQL is longer than 1 MiB", {}, {}};
  }
  if (size_t zero = sql.find('\0'); zero != std::string_view::npos) {
    return base::Error{base::ErrorKind::kUsage, "the SQL contains a zero byte", zero, {}};
  }
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  const char* end = sql.data() + sql.size();
  int rc = sqlite3_prepare_v2(get(), sql.data(), static_cast<int>(sql.size()), &raw, &tail);
  Statement statement(raw);
  if (rc != SQLITE_OK) return explainError(get(), rc, sql, schema);
  if (statement == nullptr) {
    return base::Error{
        base::ErrorKind::kUsage, "there is no SQL to run", {}, "Try SELECT * FROM devices."};
  }
  bool reads = sqlite3_stmt_readonly(statement.get()) != 0 && sqlite3_column_count(raw) > 0;
  if (!reads) return readOnlyError();
  if (!isEmptySql(get(), tail, end)) {
    return base::Error{base::ErrorKind::kUsage, "more than one statement",
                       static_cast<uint64_t>(tail - sql.data()), "Run one statement at a time."};
  }
  return statement;
}

}  // namespace tidegauge::query
