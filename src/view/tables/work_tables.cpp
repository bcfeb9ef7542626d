#include "view/tables/work_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "model/recorded_work.h"
#include "model/transfer_time.h"
#include "view/tables/table_columns.h"

namespace tidegauge::view {
namespace {

using model::RecordedRun;
using model::RecordedWork;

// Sums of a hostile file are capped at the maximum.
void addTo(uint64_t& sum, int64_t value) {
  sum = std::min<uint64_t>(sum + static_cast<uint64_t>(value), INT64_MAX);
}

// value / ns, times `unit` per second; absent if no time passed.
Number perSecond(uint64_t value, int64_t ns, double unit) {
  if (ns <= 0) return std::nullopt;
  double rate = static_cast<double>(value) * 1e9 * unit / static_cast<double>(ns);
  return std::llround(std::min(rate, 9e18));
}

std::string functionName(const RecordedRun& run, int64_t id) {
  const auto& ids = run.functions.function_id;
  auto found = std::lower_bound(ids.begin(), ids.end(), id);
  if (found == ids.end() || *found != id) return fmt::format("function {}", id);
  return std::string(
      run.strings.text(run.functions.name[static_cast<size_t>(found - ids.begin())]));
}

std::string processName(const RecordedWork& work) {
  const model::RecordedProcesses& p = work.run->processes;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p.process_id[i] != work.process_id) continue;
    return fmt::format("{} {}", p.pid[i], work.run->strings.text(p.name[i]));
  }
  return "unknown";
}

using Shape = std::array<int64_t, 6>;

struct KernelRow {
  std::string name;
  uint64_t launches = 0;
  int64_t first_ns = INT64_MAX, last_ns = 0;
  std::map<Shape, uint64_t> shapes;
  std::map<int64_t, uint64_t> functions;

  Shape mostShape() const {
    auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
    return std::max_element(shapes.begin(), shapes.end(), fewer)->first;
  }
};

std::string shapeText(const Shape& s) {
  // A graph has no geometry.
  if (std::all_of(s.begin(), s.end(), [](int64_t n) { return n == 0; })) return "";
  return fmt::format("{}×{}×{} of {}×{}×{}", s[0], s[1], s[2], s[3], s[4], s[5]);
}

std::vector<KernelRow> kernelRows(const RecordedWork& work) {
  const model::RecordedKernels& k = work.kernels;
  const model::RecordedLaunches& l = work.launches;
  std::vector<KernelRow> rows;
  boost::unordered_flat_map<int64_t, size_t> row_of;  // by kernel_id
  std::map<base::StringId, size_t> row_named;
  for (size_t i = 0; i < k.size(); ++i) {
    size_t row = row_named.try_emplace(k.name[i], rows.size()).first->second;
    if (row == rows.size()) {
      rows.emplace_back();
      rows[row].name = work.run->strings.text(k.name[i]);
    }
    row_of[k.kernel_id[i]] = row;
  }
  for (size_t i = 0; i < l.size(); ++i) {
    auto [at, is_new] = row_of.try_emplace(l.kernel_id[i], rows.size());
    if (is_new) {
      rows.emplace_back();
      rows.back().name = fmt::format("kernel {}", l.kernel_id[i]);
    }
    KernelRow& row = rows[at->second];
    addTo(row.launches, l.count[i]);
    row.first_ns = std::min(row.first_ns, l.begin_ns[i]);
    row.last_ns = std::max(row.last_ns, l.end_ns[i]);
    addTo(row.shapes[{l.grid[0][i], l.grid[1][i], l.grid[2][i], l.block[0][i], l.block[1][i],
                      l.block[2][i]}],
          l.count[i]);
    addTo(row.functions[l.function_id[i]], l.count[i]);
  }
  std::erase_if(rows, [](const KernelRow& row) { return row.shapes.empty(); });
  return rows;
}

Table kernelTable(const RecordedWork& work) {
  Table table;
  using Row = const KernelRow&;
  Columns<KernelRow> columns(table, kernelRows(work));
  columns.text("name", [](Row r) { return r.name; });
  columns.number("launches", CellKind::kCount, [](Row r) { return numberOf(r.launches); });
  columns.number("per_second", CellKind::kRate,
                 [](Row r) { return perSecond(r.launches, r.last_ns - r.first_ns, 1000); });
  columns.text("geometry", [](Row r) { return shapeText(r.mostShape()); });
  columns.number("geometries", CellKind::kCount, [](Row r) { return numberOf(r.shapes.size()); });
  std::shared_ptr<const RecordedRun> run = work.run;
  columns.text("function", [run](Row r) {
    std::string names;
    for (const auto& [id, count] : r.functions) {
      names += (names.empty() ? "" : ", ") + functionName(*run, id);
    }
    return names;
  });
  columns.text("process", [process = processName(work)](Row) { return process; });
  columns.number("first_us", CellKind::kTime, [](Row r) { return Number(r.first_ns / 1000); });
  columns.number("last_us", CellKind::kTime, [](Row r) { return Number(r.last_ns / 1000); });
  return table;
}

struct CopyRow {
  base::StringId direction;
  int64_t function = 0;
  bool submitted = false;  // at least one of its counts is
  uint64_t count = 0, size_bytes = 0, host_ns = 0, failures = 0;
  int64_t first_ns = INT64_MAX, last_ns = 0;
};

std::vector<CopyRow> copyRows(const RecordedWork& work) {
  const model::RecordedCopies& c = work.copies;
  std::vector<CopyRow> rows;
  std::map<std::pair<base::StringId, int64_t>, size_t> row_of;
  for (size_t i = 0; i < c.size(); ++i) {
    auto [at, is_new] = row_of.try_emplace({c.direction[i], c.function_id[i]}, rows.size());
    if (is_new) {
      rows.emplace_back();
      rows.back().direction = c.direction[i];
      rows.back().function = c.function_id[i];
    }
    CopyRow& row = rows[at->second];
    row.submitted = row.submitted || c.submitted[i];
    addTo(row.count, c.count[i]);
    addTo(row.size_bytes, c.size_bytes[i]);
    addTo(row.host_ns, c.host_ns[i]);
    addTo(row.failures, c.failures[i]);
    row.first_ns = std::min(row.first_ns, c.begin_ns[i]);
    row.last_ns = std::max(row.last_ns, c.end_ns[i]);
  }
  return rows;
}

Table copyTable(const RecordedWork& work) {
  Table table;
  using Row = const CopyRow&;
  Columns<CopyRow> columns(table, copyRows(work));
  std::shared_ptr<const RecordedRun> run = work.run;
  auto direction = [run](Row r) { return std::string(run->strings.text(r.direction)); };
  columns.text("direction", direction);
  columns.text("function", [run](Row r) { return functionName(*run, r.function); });
  columns.number("copies", CellKind::kCount, [](Row r) { return numberOf(r.count); });
  columns.number("size_bytes", CellKind::kBytes, [](Row r) { return numberOf(r.size_bytes); });
  columns.number("host_ns", CellKind::kDuration, [](Row r) { return numberOf(r.host_ns); });
  columns.number("bytes_per_s", CellKind::kBytesPerSecond, [run](Row r) {
    if (!model::isTransferTime(run->strings.text(r.direction), r.submitted)) return Number();
    return perSecond(r.size_bytes, static_cast<int64_t>(r.host_ns), 1);
  });
  columns.number("failures", CellKind::kCount, [](Row r) { return numberOf(r.failures); });
  columns.text("process", [process = processName(work)](Row) { return process; });
  columns.number("first_us", CellKind::kTime, [](Row r) { return Number(r.first_ns / 1000); });
  columns.number("last_us", CellKind::kTime, [](Row r) { return Number(r.last_ns / 1000); });
  return table;
}

}  // namespace

std::optional<Table> workTableOf(const model::Trace& trace, std::string_view name) {
  static const RecordedWork kNothing{std::make_shared<const RecordedRun>(), 0, {}, {}, {}, {}};
  const RecordedWork& work = trace.work ? *trace.work : kNothing;
  if (name == "kernels") return kernelTable(work);
  if (name == "copies") return copyTable(work);
  return std::nullopt;
}

}  // namespace tidegauge::view
