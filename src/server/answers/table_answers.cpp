// Tables: a window of the sorted rows as JSON, or all of them as CSV.
#include <fmt/format.h>

#include "base/csv.h"
#include "base/format.h"
#include "server/session/questions.h"
#include "view/tables/table.h"
#include "view/tables/work_tables.h"

namespace tidegauge::server {
namespace {

constexpr int64_t kMaxTableRows = 1000;
constexpr int64_t kMaxCsvRows = 1'000'000;

json cellJson(const view::TableColumn& column, uint32_t row) {
  if (column.kind == view::CellKind::kText) return shownText(column.text(row));
  std::optional<int64_t> number = column.number(row);
  if (!number) return nullptr;
  auto bits = static_cast<uint64_t>(*number);
  if (column.kind == view::CellKind::kAddress) return base::hexAddress(bits);
  if (column.kind == view::CellKind::kRate) return static_cast<double>(*number) / 1000;
  return column.kind == view::CellKind::kBytes ? json(bits) : json(*number);
}

void appendCell(std::string& csv, const view::TableColumn& column, uint32_t row) {
  json cell = cellJson(column, row);
  if (cell.is_null()) return;
  base::appendCsvField(csv, cell.is_string() ? cell.get<std::string>() : cell.dump());
}

Response csvResponse(const view::Table& table, const std::vector<uint32_t>& order, size_t begin,
                     size_t end) {
  Response response;
  response.content_type = "text/csv; charset=utf-8";
  for (size_t c = 0; c < table.columns.size(); ++c) {
    response.body += fmt::format("{}{}", c == 0 ? "" : ",", table.columns[c].name);
  }
  response.body += base::kCsvLineEnd;
  for (size_t i = begin; i < end; ++i) {
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) response.body += ',';
      appendCell(response.body, table.columns[c], order[i]);
    }
    response.body += base::kCsvLineEnd;
  }
  return response;
}

}  // namespace

namespace {

struct FoundTable {
  OpenFile* file = nullptr;
  std::string key;  // of its cached parts
  std::shared_ptr<const view::Table> table;
};

// Kernels and copies belong to the process, everything else to one device.
base::Result<FoundTable> findTable(const Question& question, const std::string& name) {
  FoundTable found;
  TG_ASSIGN_OR_RETURN(found.file, fileOf(question));
  const analysis::AnalysedTrace& analysed = *found.file->analysed;
  if (view::isWorkTable(name)) {
    found.key = name + " \n";
    found.table = found.file->tables.get(found.key, [&] {
      return std::make_shared<const view::Table>(*view::workTableOf(analysed.trace, name));
    });
    return found;
  }
  TG_ASSIGN_OR_RETURN(Place place, placeOf(question));
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const view::FilterSet> filter,
                      filterOf(question, *place.file));
  found.key = fmt::format("{} {}\n{}", name, place.device->device.ordinal,
                          filter == nullptr ? "" : question.params.text("filter"));
  found.table = found.file->tables.get(found.key, [&] {
    std::optional<view::Table> made = view::tableOf(analysed, *place.device, name, filter.get());
    return made ? std::make_shared<const view::Table>(std::move(*made)) : nullptr;
  });
  if (found.table != nullptr) return found;
  return notUsable("There is no table “" + name + "”",
                   "The tables are: " + std::string(view::kTableNames));
}

}  // namespace

base::Result<Response> answerTable(const Question& question) {
  const Params& params = question.params;
  std::string format = params.text("format", "json");
  if (format != "json" && format != "csv") return notUsable("format must be json or csv");
  int64_t most = format == "csv" ? kMaxCsvRows : kMaxTableRows;
  TG_ASSIGN_OR_RETURN(int64_t offset, params.integer("offset", 0, UINT32_MAX, 0));
  TG_ASSIGN_OR_RETURN(int64_t limit,
                      params.integer("limit", 0, most, format == "csv" ? most : 100));
  std::string order_text = params.text("order", "desc");
  if (order_text != "asc" && order_text != "desc") return notUsable("order must be asc or desc");
  std::string name = params.text("name", "allocations");
  TG_ASSIGN_OR_RETURN(FoundTable found, findTable(question, name));
  const std::shared_ptr<const view::Table>& table = found.table;
  std::string sort = params.text("sort", table->columns.front().name);
  const view::TableColumn* column = table->find(sort);
  if (column == nullptr) return notUsable("The table has no column “" + sort + "”");
  std::shared_ptr<const std::vector<uint32_t>> order =
      found.file->table_orders.get(fmt::format("{} {}\n{}", sort, order_text, found.key), [&] {
        return std::make_shared<const std::vector<uint32_t>>(
            view::orderOf(*table, *column, order_text == "desc"));
      });
  size_t begin = std::min(static_cast<size_t>(offset), order->size());
  size_t end = begin + std::min(static_cast<size_t>(limit), order->size() - begin);
  if (format == "csv") return csvResponse(*table, *order, begin, end);
  json columns = json::array();
  for (const view::TableColumn& c : table->columns) {
    columns.push_back({{"name", c.name}, {"kind", view::name(c.kind)}});
  }
  json rows = json::array();
  for (size_t i = begin; i < end; ++i) {
    json row = json::array();
    for (const view::TableColumn& c : table->columns) row.push_back(cellJson(c, (*order)[i]));
    rows.push_back(std::move(row));
  }
  return jsonResponse({{"name", name},
                       {"sort", sort},
                       {"order", order_text},
                       {"total", table->rows},
                       {"shown", order->size()},
                       {"offset", begin},
                       {"columns", std::move(columns)},
                       {"rows", std::move(rows)}});
}

}  // namespace tidegauge::server
