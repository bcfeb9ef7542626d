#include "query/virtual_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/format.h"
#include "query/scan/guarded.h"
#include "query/scan/plan.h"

namespace tidegauge::query {
namespace {

// SQLite passes these structs as pointers to their first member.
struct VirtualTable {
  sqlite3_vtab base{};
  const VirtualTableSource* source = nullptr;
  std::vector<Plan> plans;  // sqlite3_index_info.idxNum is an index into it

  // Hidden columns before the table's own.
  size_t hiddenCount() const {
    return source->function == nullptr ? 0 : source->function->arguments.size() + 1;
  }
};

struct Cursor {
  sqlite3_vtab_cursor base{};
  VirtualTable* table = nullptr;
  Scan scan;
  View view;  // the result of a function
  std::vector<int64_t> arguments;
  int starts = 0;
  LikeMemory likes;
  std::string scratch;

  explicit Cursor(VirtualTable* of_table)
      : table(of_table),
        scan(of_table->source->context->orders, of_table->source->context->deadline) {}
};

VirtualTable* tableOf(sqlite3_vtab* base) { return reinterpret_cast<VirtualTable*>(base); }
Cursor* cursorOf(sqlite3_vtab_cursor* base) { return reinterpret_cast<Cursor*>(base); }

// The arguments of a function are its first, hidden columns: f(1, 2) sets the first two. One more
// hidden column catches an extra argument, before it could set another hidden column of the table.
std::string declaration(const VirtualTableSource& source) {
  std::string sql = "CREATE TABLE x(";
  if (source.function != nullptr) {
    for (const std::string& argument : source.function->arguments) {
      sql += fmt::format("\"at_{}\" INTEGER HIDDEN, ", argument);
    }
    sql += "\"at_\" HIDDEN, ";
  }
  for (const Column& column : source.table->columns) {
    sql += fmt::format("\"{}\" {}{}, ", column.name, declaredType(column.kind),
                       column.hidden ? " HIDDEN" : "");
  }
  sql.resize(sql.size() - 2);
  return sql + ")";
}

int onConnect(sqlite3* db, void* source, int, const char* const*, sqlite3_vtab** out,
              char** error) {
  auto table = std::make_unique<VirtualTable>();
  table->source = static_cast<const VirtualTableSource*>(source);
  std::string sql = declaration(*table->source);
  table->source->context->declaring = true;
  int rc = sqlite3_declare_vtab(db, sql.c_str());
  table->source->context->declaring = false;
  if (rc != SQLITE_OK) {
    *error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    return rc;
  }
  sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  *out = &table.release()->base;
  return SQLITE_OK;
}

int onDisconnect(sqlite3_vtab* base) {
  delete tableOf(base);
  return SQLITE_OK;
}

int onBestIndex(sqlite3_vtab* base, sqlite3_index_info* info) {
  VirtualTable* table = tableOf(base);
  Plan plan;
  if (!planScan(*table->source->table, table->hiddenCount(), info, &plan)) {
    return SQLITE_CONSTRAINT;
  }
  info->idxNum = static_cast<int>(table->plans.size());
  info->idxStr = sqlite3_mprintf("%s", describe(*table->source->table, plan).c_str());
  info->needToFreeIdxStr = 1;
  table->plans.push_back(std::move(plan));
  return SQLITE_OK;
}

int onOpen(sqlite3_vtab* base, sqlite3_vtab_cursor** out) {
  *out = &(new Cursor(tableOf(base)))->base;
  return SQLITE_OK;
}

int onClose(sqlite3_vtab_cursor* base) {
  delete cursorOf(base);
  return SQLITE_OK;
}

RowFilter& filterOf(std::vector<RowFilter>& filters, int column) {
  auto found = std::find_if(filters.begin(), filters.end(),
                            [&](const RowFilter& filter) { return filter.column == column; });
  if (found != filters.end()) return *found;
  RowFilter& filter = filters.emplace_back();
  filter.column = column;
  return filter;
}

// 2.0 is a whole number, as in SQLite's own integer columns.
bool isWholeNumber(sqlite3_value* value) {
  int type = sqlite3_value_numeric_type(value);
  double real = type == SQLITE_FLOAT ? sqlite3_value_double(value) : 0.5;
  return type == SQLITE_INTEGER || real == std::trunc(real);
}

int refuse(sqlite3_vtab* base, const std::string& message) {
  sqlite3_free(base->zErrMsg);
  base->zErrMsg = sqlite3_mprintf("%s", message.c_str());
  return SQLITE_ERROR;
}

int onFilter(sqlite3_vtab_cursor* base, int plan_index, const char*, int, sqlite3_value** values) {
  Cursor* cursor = cursorOf(base);
  VirtualTable* table = cursor->table;
  const Plan& plan = table->plans[static_cast<size_t>(plan_index)];
  const Table& shape = *table->source->table;
  Scan::Request request;
  request.table = &shape;
  request.order = plan.order;
  request.backward = plan.backward;
  request.top = plan.top;
  request.earlier_first = plan.earlier_first;
  request.again = cursor->starts++ > 0;
  std::vector<std::optional<int64_t>> arguments(table->hiddenCount());
  if (!arguments.empty()) arguments.pop_back();
  bool null_argument = false;
  for (size_t i = 0; i < plan.tests.size(); ++i) {
    const PlannedTest& test = plan.tests[i];
    size_t column = static_cast<size_t>(test.column);
    if (test.test == Test::kArgument) {
      const TableFunction& function = *table->source->function;
      if (column == arguments.size()) {
        return refuse(base->pVtab, fmt::format("{} takes {}: {}", function.name,
                                               base::counted(arguments.size(), "argument"),
                                               function.signature()));
      }
      bool null = sqlite3_value_type(values[i]) == SQLITE_NULL;
      if (!null && !isWholeNumber(values[i])) {
        return refuse(base->pVtab, fmt::format("{}: {} must be a whole number",
                                               function.signature(), function.arguments[column]));
      }
      null_argument = null_argument || null;
      arguments[column] = sqlite3_value_int64(values[i]);
    } else {
      narrow(filterOf(request.filters, test.column), shape.columns[column], test.test, values[i],
             cursor->likes);
    }
  }
  if (table->source->function == nullptr) {
    for (const KeyRange& range : shape.within) {
      RowFilter& filter = filterOf(request.filters, range.column);
      filter.atLeast(range.low);
      filter.atMost(range.high);
    }
  } else {
    const TableFunction& function = *table->source->function;
    cursor->arguments.clear();
    for (std::optional<int64_t> argument : arguments) {
      if (!argument) {
        return refuse(base->pVtab, fmt::format("{} needs {}: {}", function.name,
                                               base::counted(arguments.size(), "argument"),
                                               function.signature()));
      }
      cursor->arguments.push_back(*argument);
    }
    cursor->view = View{&shape, nullptr, {}, false};
    if (!null_argument) {  // NULL, for example from an outer join, is not a place: no rows
      const Deadline& deadline = table->source->context->deadline;
      base::Result<View> view = function.call(cursor->arguments, deadline);
      if (!view.ok()) {
        if (view.error().kind == base::ErrorKind::kLimit && deadline.hasPassed())
          return SQLITE_INTERRUPT;
        return refuse(base->pVtab, fmt::format("{}: {}", function.signature(), view.error().what));
      }
      cursor->view = std::move(view).value();
    }
    request.table = cursor->view.table;
    if (!cursor->view.all_rows) request.only = &cursor->view.rows;
    request.again = false;  // a temporary table has no order index
  }
  cursor->scan.start(std::move(request));
  return cursor->scan.timedOut() ? SQLITE_INTERRUPT : SQLITE_OK;
}

int onNext(sqlite3_vtab_cursor* base) {
  Cursor* cursor = cursorOf(base);
  cursor->scan.next();
  return cursor->scan.timedOut() ? SQLITE_INTERRUPT : SQLITE_OK;
}

int onEof(sqlite3_vtab_cursor* base) { return cursorOf(base)->scan.atEnd(); }

int onColumn(sqlite3_vtab_cursor* base, sqlite3_context* context, int index) {
  Cursor* cursor = cursorOf(base);
  size_t column_index = static_cast<size_t>(index);
  if (column_index < cursor->arguments.size()) {
    sqlite3_result_int64(context, cursor->arguments[column_index]);
    return SQLITE_OK;
  }
  size_t hidden = cursor->table->hiddenCount();
  if (column_index < hidden) return SQLITE_OK;  // the column that catches an extra argument
  column_index -= hidden;
  int64_t key = cursor->scan.key(column_index);
  if (key == kNull) return SQLITE_OK;  // a result that is not set is NULL
  const Column& column = cursor->scan.table().columns[column_index];
  if (column.isReal()) {
    sqlite3_result_double(context, std::bit_cast<double>(key));
    return SQLITE_OK;
  }
  if (!column.text) {
    sqlite3_result_int64(context, key);
    return SQLITE_OK;
  }
  std::string_view text = column.text(key, cursor->scratch);
  bool made = text.data() == cursor->scratch.data();
  sqlite3_result_text64(context, text.data() == nullptr ? "" : text.data(), text.size(),
                        made ? SQLITE_TRANSIENT : SQLITE_STATIC, SQLITE_UTF8);
  return SQLITE_OK;
}

int onRowid(sqlite3_vtab_cursor* base, sqlite3_int64* rowid) {
  *rowid = static_cast<sqlite3_int64>(cursorOf(base)->scan.row());
  return SQLITE_OK;
}

// No xCreate: the tables exist on every connection and none can be created. No xUpdate: read-only.
const sqlite3_module kModule = [] {
  sqlite3_module module{};
  module.xConnect = guarded<onConnect>;
  module.xBestIndex = guarded<onBestIndex>;
  module.xDisconnect = guarded<onDisconnect>;
  module.xOpen = guarded<onOpen>;
  module.xClose = guarded<onClose>;
  module.xFilter = guarded<onFilter>;
  module.xNext = guarded<onNext>;
  module.xEof = guarded<onEof>;
  module.xColumn = guarded<onColumn>;
  module.xRowid = guarded<onRowid>;
  return module;
}();

constexpr std::pair<ColumnKind, const char*> kDeclared[] = {
    {ColumnKind::kInteger, "INTEGER"},   {ColumnKind::kReal, "REAL"},
    {ColumnKind::kText, "TEXT"},         {ColumnKind::kBytes, "BYTES INTEGER"},
    {ColumnKind::kStep, "STEP INTEGER"}, {ColumnKind::kTime, "TIME INTEGER"},
};

}  // namespace

base::Status registerVirtualTable(sqlite3* db, const VirtualTableSource& source) {
  const std::string& name = source.function ? source.function->name : source.table->name;
  // SQLite passes the pointer to onConnect, which only reads.
  void* client_data = const_cast<VirtualTableSource*>(&source);
  if (sqlite3_create_module_v2(db, name.c_str(), &kModule, client_data, nullptr) != SQLITE_OK) {
    return base::Error{base::ErrorKind::kMissingFeature, sqlite3_errmsg(db), {}, {}};
  }
  return base::okStatus();
}

std::string declaredType(ColumnKind kind) {
  for (const auto& [of_kind, declared] : kDeclared) {
    if (of_kind == kind) return declared;
  }
  return "INTEGER";
}

bool kindOfDeclaredType(const char* declared, ColumnKind* kind) {
  if (declared == nullptr) return false;
  for (const auto& [of_kind, name] : kDeclared) {
    if (std::string_view(name) != declared) continue;
    *kind = of_kind;
    return true;
  }
  return false;
}

}  // namespace tidegauge::query
