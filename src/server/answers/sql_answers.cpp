// SQL: runs a query, turns the allocations in its result into a mark; describes the schema.
#include "base/ascii.h"
#include "server/session/questions.h"
#include "view/filter/search_words.h"

namespace tidegauge::server {
namespace {

constexpr uint64_t kMaxSqlRows = 100'000;
constexpr uint64_t kMaxAnswerBytes = uint64_t{64} << 20;

struct Asked {
  OpenFile* file = nullptr;
  std::string sql;
  query::QueryLimits limits;
};

base::Result<Asked> readBody(const Question& question) {
  json body = json::parse(question.request.body, nullptr, false);
  if (!body.is_object() || !body.contains("sql") || !body["sql"].is_string()) {
    return notUsable("The body must be JSON: {\"file\": 0, \"sql\": \"SELECT …\"}");
  }
  Asked asked;
  asked.sql = body["sql"].get<std::string>();
  const json& file = body.contains("file") ? body["file"] : json(0);
  if (!file.is_number_integer() || file.get<int64_t>() < 0 ||
      file.get<uint64_t>() >= question.session.files.size()) {
    return notUsable("There is no such file");
  }
  asked.file = question.session.files[file.get<size_t>()].get();
  asked.limits = {.rows = kMaxSqlRows,
                  .bytes = kMaxAnswerBytes,
                  .milliseconds = kQueryLimitSeconds * 1000,
                  .stop = question.stop};
  if (body.contains("limit")) {
    const json& limit = body["limit"];
    if (!limit.is_number_integer() || limit.get<int64_t>() < 1) {
      return notUsable("limit must be a whole number from 1");
    }
    asked.limits.rows = std::min(kMaxSqlRows, limit.get<uint64_t>());
  }
  return asked;
}

// Index of the column with allocations: by origin an id of allocations, or a column named like one;
// −1 if there is none.
int allocationColumn(const std::vector<query::QueryColumn>& columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const query::QueryColumn& column = columns[i];
    bool is_id =
        (column.table == "allocations" || column.table == "live_at") && column.table_column == "id";
    if (is_id || base::lowerAscii(column.name) == "allocation_id") return static_cast<int>(i);
  }
  return -1;
}

class JsonRows : public query::RowSink {
 public:
  explicit JsonRows(size_t allocations) : allocations_(allocations) {}

  void onColumns(const std::vector<query::QueryColumn>& columns) override {
    for (const query::QueryColumn& column : columns) {
      columns_.push_back({{"name", column.name}, {"kind", query::name(column.kind)}});
    }
    allocation_column_ = allocationColumn(columns);
  }

  void onRow(std::span<const query::CellView> cells) override {
    json row = json::array();
    for (const query::CellView& cell : cells) row.push_back(cellJson(cell));
    rows_.push_back(std::move(row));
    if (allocation_column_ < 0) return;
    const auto* id = std::get_if<int64_t>(&cells[static_cast<size_t>(allocation_column_)]);
    if (id != nullptr && *id >= 0 && static_cast<uint64_t>(*id) < allocations_) {
      marked_.push_back(static_cast<uint32_t>(*id));
    }
  }

  json takeColumns() { return std::move(columns_); }
  json takeRows() { return std::move(rows_); }
  std::vector<uint32_t> takeMarked() { return std::move(marked_); }
  bool namesAllocations() const { return allocation_column_ >= 0; }

 private:
  static json cellJson(const query::CellView& cell) {
    // A JavaScript number holds 53 bits: larger integers are sent as text, so that no digit is
    // lost.
    constexpr int64_t kMaxExact = int64_t{1} << 53;
    if (const auto* integer = std::get_if<int64_t>(&cell)) {
      bool exact = *integer >= -kMaxExact && *integer <= kMaxExact;
      return exact ? json(*integer) : json(std::to_string(*integer));
    }
    if (const auto* real = std::get_if<double>(&cell)) return *real;
    if (const auto* text = std::get_if<std::string_view>(&cell)) return std::string(*text);
    return nullptr;
  }

  size_t allocations_;
  int allocation_column_ = -1;
  json columns_ = json::array();
  json rows_ = json::array();
  std::vector<uint32_t> marked_;
};

}  // namespace

base::Result<Response> answerSql(const Question& question) {
  TG_ASSIGN_OR_RETURN(Asked asked, readBody(question));
  size_t total = asked.file->analysed->trace.allocations.size();
  JsonRows rows(total);
  TG_ASSIGN_OR_RETURN(query::QuerySummary summary,
                      asked.file->database()->stream(asked.sql, asked.limits, rows));
  json mark;
  size_t marked = 0;
  if (rows.namesAllocations()) {
    auto set = std::make_shared<const view::MarkSet>(rows.takeMarked(), total);
    marked = set->rows().size();
    mark = asked.file->marks.add(std::move(set));
  }
  return jsonResponse({{"columns", rows.takeColumns()},
                       {"rows", rows.takeRows()},
                       {"truncated", summary.truncated},
                       {"elapsed_ms", summary.elapsed_ms},
                       {"mark", mark},
                       {"marked", marked}});
}

base::Result<Response> answerSchema(const Question& question) {
  TG_ASSIGN_OR_RETURN(OpenFile * file, fileOf(question));
  auto database = file->database();
  const query::Schema& schema = database->schema();
  json tables = json::array();
  for (const query::TableDoc& table : schema.tables) {
    json columns = json::array();
    for (const query::ColumnDoc& column : table.columns) {
      columns.push_back(
          {{"name", column.name}, {"type", query::name(column.kind)}, {"doc", column.doc}});
    }
    tables.push_back({{"name", table.name},
                      {"rows", table.rows},
                      {"doc", table.doc},
                      {"columns", std::move(columns)}});
  }
  json functions = json::array();
  for (const query::FunctionDoc& function : schema.functions) {
    functions.push_back({{"name", function.signature}, {"doc", function.doc}});
  }
  json questions = json::array();
  for (const query::Question& asked : schema.questions) {
    questions.push_back({{"title", asked.title}, {"sql", asked.sql}});
  }
  return jsonResponse({{"tables", std::move(tables)},
                       {"functions", std::move(functions)},
                       {"questions", std::move(questions)}});
}

}  // namespace tidegauge::server
