#include "query/explain_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/ascii.h"
#include "base/format.h"
#include "query/scan/columns.h"

namespace tidegauge::query {
namespace {

using Names = std::vector<std::string>;

// Edits of one letter (inserted, removed, replaced, two swapped) between two short words.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> two_up;
  std::vector<size_t> up(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(up.begin(), up.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({up[j] + 1, row[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1])});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_up[j - 2] + 1);
    }
    two_up = std::exchange(up, row);
  }
  return up[b.size()];
}

// " Did you mean step?" if a name is close, or contains the word as a part.
std::string suggestion(std::string_view wrong, const Names& names) {
  if (wrong.empty()) return {};
  std::string word = base::lowerAscii(wrong.substr(0, 64));
  const std::string* best = nullptr;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& name : names) {
    size_t distance = editDistance(word, name);
    bool part = word.size() >= 3 && name.find(word) != std::string::npos;
    if (part) distance = std::min<size_t>(distance, 2);
    if (distance < least) {
      least = distance;
      best = &name;
    }
  }
  return best == nullptr ? std::string() : fmt::format(" Did you mean {}?", *best);
}

bool isWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The words of the SQL in order. Good enough to find the tables in it.
Names wordsOf(std::string_view sql) {
  Names words;
  for (size_t i = 0; i < sql.size();) {
    size_t begin = i;
    while (i < sql.size() && isWordByte(sql[i])) ++i;
    if (i > begin) words.push_back(base::lowerAscii(sql.substr(begin, i - begin)));
    if (i == begin) ++i;
  }
  return words;
}

const TableDoc* findTable(const Schema& schema, std::string_view name) {
  for (const TableDoc& table : schema.tables) {
    if (table.name == name) return &table;
  }
  if (name == "live_at") return findTable(schema, "allocations");
  return name == "blocks_at" ? findTable(schema, "blocks") : nullptr;
}

// The tables that may contain a column: all in the SQL, or the one with `alias`.
std::vector<const TableDoc*> tablesOf(std::string_view sql, std::string_view alias,
                                      const Schema& schema) {
  std::vector<const TableDoc*> tables;
  Names words = wordsOf(sql);
  for (size_t i = 0; i < words.size(); ++i) {
    const TableDoc* table = findTable(schema, words[i]);
    if (table == nullptr) continue;
    size_t after = i + 1 < words.size() && words[i + 1] == "as" ? i + 2 : i + 1;
    bool is_alias = after < words.size() && words[after] == alias;
    if (!alias.empty() && words[i] != alias && !is_alias) continue;
    if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
  }
  return tables;
}

Names columnNames(const TableDoc& table) {
  Names names;
  for (const ColumnDoc& column : table.columns) names.push_back(column.name);
  return names;
}

std::string tableHint(std::string_view table, const Schema& schema) {
  Names names;
  for (const TableDoc& known : schema.tables) names.push_back(known.name);
  return fmt::format("The tables are: {}.{}", fmt::join(names, ", "), suggestion(table, names));
}

std::string columnHint(std::string_view column, std::string_view sql, const Schema& schema) {
  size_t dot = column.rfind('.');
  std::string alias =
      dot == std::string_view::npos ? std::string() : base::lowerAscii(column.substr(0, dot));
  if (dot != std::string_view::npos) column.remove_prefix(dot + 1);
  if (!alias.empty() && tablesOf(sql, alias, schema).empty()) return tableHint(alias, schema);
  std::string hint;
  Names all;
  for (const TableDoc* table : tablesOf(sql, alias, schema)) {
    Names names = columnNames(*table);
    hint += fmt::format("{}{} has the columns {}.", hint.empty() ? "" : " ", table->name,
                        fmt::join(names, ", "));
    all.insert(all.end(), names.begin(), names.end());
  }
  if (sql.find(fmt::format("\"{}\"", column)) != std::string_view::npos) {
    return fmt::format("{} Write text in single quotes: '{}'.", hint, column);
  }
  return hint + suggestion(column, all);
}

// "median(x)" for "median" and "MEDIAN()"; null if there is no such function.
const FunctionDoc* findFunction(std::string_view function, const Schema& schema) {
  std::string name = base::lowerAscii(function.substr(0, function.find('(')));
  for (const FunctionDoc& known : schema.functions) {
    if (known.signature.starts_with(name + "(")) return &known;
  }
  return nullptr;
}

// SQLite finds no function of this name and number of arguments where a value is expected.
std::string functionHint(std::string_view function, const Schema& schema) {
  if (const FunctionDoc* known = findFunction(function, schema)) {
    auto commas = std::count(known->signature.begin(), known->signature.end(), ',');
    return fmt::format("{0} takes {1} and returns a table. Write SELECT * FROM {0}.",
                       known->signature,
                       base::counted(static_cast<uint64_t>(commas) + 1, "argument"));
  }
  Names names;
  for (const FunctionDoc& known : schema.functions) {
    names.push_back(known.signature.substr(0, known.signature.find('(')));
  }
  return fmt::format("Tidegauge adds these functions to those of SQLite: {}.{}",
                     fmt::join(names, ", "), suggestion(function, names));
}

// "median(x)" from "wrong number of arguments to function median()".
std::string argumentsHint(std::string_view function, const Schema& schema) {
  const FunctionDoc* known = findFunction(function, schema);
  return known == nullptr ? std::string() : fmt::format("Write {}.", known->signature);
}

std::string syntaxHint(std::string_view message, std::string_view sql, const Schema& schema) {
  Names words = wordsOf(sql.substr(0, 200));
  std::string first = words.empty() ? std::string() : words.front();
  bool asks_for_tables = first == "show" || first == "describe" || first == "desc" ||
                         first == "tables" || first == "schema";
  if (asks_for_tables) return tableHint({}, schema);
  if (message.starts_with("incomplete input")) return "The SQL ends too early.";
  return first == "select" || first == "with" || first == "explain"
             ? std::string()
             : "A query starts with SELECT, for example: SELECT * FROM devices";
}

std::string hintFor(std::string_view message, std::string_view sql, const Schema& schema) {
  auto after = [&](std::string_view start) -> std::optional<std::string_view> {
    return message.starts_with(start) ? std::optional(message.substr(start.size())) : std::nullopt;
  };
  if (auto column = after("no such column: ")) return columnHint(*column, sql, schema);
  if (auto table = after("no such table: ")) return tableHint(*table, schema);
  if (message.ends_with("is prohibited")) return tableHint({}, schema);
  if (auto function = after("no such function: ")) return functionHint(*function, schema);
  if (auto function = after("wrong number of arguments to function ")) {
    return argumentsHint(*function, schema);
  }
  if (after("ambiguous column name: ")) {
    return "Several tables have this column. Write the table's name before it, as in events.step.";
  }
  bool syntax = message.ends_with("syntax error") || message.starts_with("incomplete input");
  if (syntax) return syntaxHint(message, sql, schema);
  return {};
}

}  // namespace

base::Error readOnlyError() {
  return {base::ErrorKind::kUsage,
          "a query cannot change the file",
          {},
          "Use SELECT, WITH or EXPLAIN."};
}

base::Error explainError(sqlite3* db, int code, std::string_view sql, const Schema& schema) {
  base::Error error;
  error.kind = base::ErrorKind::kUsage;
  error.what = sqlite3_errmsg(db);
  int offset = sqlite3_error_offset(db);
  if (offset >= 0) error.byte_offset = static_cast<uint64_t>(offset);
  bool writes = error.what == "not authorized" || error.what.ends_with("may not be modified");
  if (writes) return readOnlyError();
  switch (code & 0xff) {
    case SQLITE_TOOBIG:
    case SQLITE_NOMEM:
    case SQLITE_FULL:
      error.kind = base::ErrorKind::kLimit;
      error.hint = "Select fewer or shorter values.";
      break;
    default:
      error.hint = hintFor(error.what, sql, schema);
  }
  return error;
}

}  // namespace tidegauge::query
