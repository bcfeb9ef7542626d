#include "cli/commands/query_output.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/csv.h"
#include "base/format.h"
#include "base/text_layout.h"
#include "cli/options/output.h"

namespace tidegauge::cli {
namespace {

using query::CellView;
using query::ColumnKind;
using query::QueryColumn;

std::string textOf(const CellView& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string_view>(&cell)) return std::string(*text);
  return {};
}

// ---- table --------------------------------------------------------------------------------------

// On one line, a stack reads from the innermost frame to its callers.
std::string onOneLine(std::string_view text) {
  std::string line;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    if (begin > 0) line += " ← ";
    line += base::printable(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return line;
}

class TableWriter : public QueryWriter {
 public:
  TableWriter(size_t columns, Output& out) : terminal_columns_(columns), out_(out) {}

  void onColumns(const std::vector<QueryColumn>& columns) override {
    for (const QueryColumn& column : columns) {
      head_.push_back(base::printable(column.name));
      widths_.push_back(base::displayWidth(head_.back()));
      right_.push_back(column.kind != ColumnKind::kText);
    }
  }

  void onRow(std::span<const CellView> cells) override {
    std::vector<std::string>& row = rows_.emplace_back();
    for (size_t i = 0; i < cells.size(); ++i) {
      bool null = std::holds_alternative<std::monostate>(cells[i]);
      row.push_back(null ? "–" : onOneLine(textOf(cells[i])));
      widths_[i] = std::max(widths_[i], base::displayWidth(row.back()));
    }
  }

  void finish() override {
    if (terminal_columns_ > 0) fitWidths();
    printRow(head_);
    std::string rule;
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (i > 0) rule += "  ";
      for (size_t k = 0; k < widths_[i]; ++k) rule += "─";
    }
    out_.write(rule += '\n');
    for (const auto& row : rows_) printRow(row);
  }

 private:
  // Narrows the widest text until the table fits; numbers are never cut.
  void fitWidths() {
    constexpr size_t kLeast = 12;
    size_t total = 2 * (widths_.size() - 1);
    for (size_t width : widths_) total += width;
    while (total > terminal_columns_) {
      size_t widest = widths_.size();
      for (size_t i = 0; i < widths_.size(); ++i) {
        bool can_shrink = !right_[i] && widths_[i] > kLeast;
        if (can_shrink && (widest == widths_.size() || widths_[i] > widths_[widest])) widest = i;
      }
      if (widest == widths_.size()) return;
      --widths_[widest];
      --total;
    }
  }

  void printRow(const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      std::string text = base::cutTo(cells[i], widths_[i]);
      line += right_[i] ? base::padLeft(text, widths_[i]) : base::padRight(text, widths_[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out_.write(line += '\n');
  }

  size_t terminal_columns_;
  Output& out_;
  std::vector<std::string> head_;
  std::vector<size_t> widths_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// ---- CSV ----------------------------------------------------------------------------------------

class CsvWriter : public QueryWriter {
 public:
  CsvWriter(const QueryStyle& style, Output& out) : terminal_(style.columns > 0), out_(out) {}

  void onColumns(const std::vector<QueryColumn>& columns) override {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) line += ',';
      base::appendCsvField(line, columns[i].name);
    }
    writeLine(line);
  }
  void onRow(std::span<const CellView> cells) override {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += ',';
      const auto* text = std::get_if<std::string_view>(&cells[i]);
      // "" is an empty text; an empty field is NULL.
      if (text != nullptr && text->empty())
        line += "\"\"";
      else
        base::appendCsvField(line, textOf(cells[i]));
    }
    writeLine(line);
  }
  void finish() override {}

 private:
  void writeLine(const std::string& line) {
    // Exact for programs. On a terminal, names from the file must not control it.
    out_.write((terminal_ ? base::printable(line) : line) + base::kCsvLineEnd);
  }

  bool terminal_;
  Output& out_;
};

// ---- JSON ---------------------------------------------------------------------------------------

std::string jsonText(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class JsonWriter : public QueryWriter {
 public:
  explicit JsonWriter(Output& out) : out_(out) {}

  void onColumns(const std::vector<QueryColumn>& columns) override {
    std::set<std::string> used;
    for (const QueryColumn& column : columns) {
      std::string key = column.name;  // an object contains each key once: a, a_2, …
      for (int n = 2; !used.insert(key).second; ++n) key = fmt::format("{}_{}", column.name, n);
      keys_.push_back(jsonText(key));
    }
    out_.write("[");
  }
  void onRow(std::span<const CellView> cells) override {
    std::string line = first_ ? "\n  {" : ",\n  {";
    first_ = false;
    for (size_t i = 0; i < cells.size(); ++i) {
      fmt::format_to(std::back_inserter(line), "{}{}: {}", i > 0 ? ", " : "", keys_[i],
                     value(cells[i]));
    }
    out_.write(line += '}');
  }
  void finish() override { out_.write(first_ ? "]\n" : "\n]\n"); }

 private:
  static std::string value(const CellView& cell) {
    if (std::holds_alternative<std::monostate>(cell)) return "null";
    const auto* real = std::get_if<double>(&cell);
    if (real != nullptr && !std::isfinite(*real)) return "null";
    const auto* text = std::get_if<std::string_view>(&cell);
    return text != nullptr ? jsonText(*text) : textOf(cell);
  }

  Output& out_;
  std::vector<std::string> keys_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<QueryWriter> makeQueryWriter(const QueryStyle& style, Output& out) {
  switch (style.format) {
    case QueryFormat::kCsv:
      return std::make_unique<CsvWriter>(style, out);
    case QueryFormat::kJson:
      return std::make_unique<JsonWriter>(out);
    default:
      return std::make_unique<TableWriter>(style.columns, out);
  }
}

void printSchema(const query::Schema& schema, size_t columns, Output& out) {
  size_t width = columns == 0 ? 100 : columns;
  out.write("Tables\n");
  for (const query::TableDoc& table : schema.tables) {
    std::vector<std::string> names;
    for (const query::ColumnDoc& column : table.columns) names.push_back(column.name);
    out.print("  {:<14}{:>14} {}\n{}", table.name, base::withCommas(table.rows),
              table.rows == 1 ? "row" : "rows",
              base::wrapped(fmt::format("{}", fmt::join(names, ", ")), width, 4));
  }
  out.write("\nFunctions, in addition to those of SQLite\n");
  for (const query::FunctionDoc& function : schema.functions) {
    out.print("  {:<29} {}\n", function.signature, function.doc);
  }
  out.print(
      "\n{}",
      base::wrapped(
          "docs/use/sql.md lists the columns and worked questions. Try SELECT * FROM devices.",
          width, 0));
}

}  // namespace tidegauge::cli
