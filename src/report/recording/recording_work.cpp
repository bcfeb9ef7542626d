// The sections "kernels" and "copies".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <set>

#include "base/format.h"
#include "model/transfer_time.h"
#include "report/recording/cut_mangled.h"
#include "report/recording/recording_report.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {
namespace {

using base::counted;
using base::humanBytes;
using base::withCommas;
using model::RecordedWork;
using nlohmann::json;

constexpr size_t kMaxWorkJsonRows = 50;

// Grid, then block.
using Geometry = std::array<int64_t, 6>;

struct Launched {
  std::string_view name;  // empty: unknown
  Geometry geometry{};
  uint64_t launches = 0;
};

// "64×8", "256": trailing dimensions of 1 are left out. A graph has none.
std::string extent(const int64_t* of) {
  if (of[0] == 0) return "–";
  size_t shown = of[2] != 1 ? 3 : of[1] != 1 ? 2 : 1;
  std::string text;
  for (size_t i = 0; i < shown; ++i) text += fmt::format("{}{}", i > 0 ? "×" : "", of[i]);
  return text;
}

std::vector<Launched> launchedOf(const RecordedWork& work) {
  boost::unordered_flat_map<int64_t, std::string_view> names;
  for (size_t i = 0; i < work.kernels.size(); ++i) {
    names.try_emplace(work.kernels.kernel_id[i], work.run->strings.text(work.kernels.name[i]));
  }
  std::map<std::pair<std::string_view, Geometry>, uint64_t> sums;
  const model::RecordedLaunches& l = work.launches;
  for (size_t i = 0; i < l.size(); ++i) {
    Geometry geometry{l.grid[0][i],  l.grid[1][i],  l.grid[2][i],
                      l.block[0][i], l.block[1][i], l.block[2][i]};
    auto name = names.find(l.kernel_id[i]);
    sums[{name == names.end() ? std::string_view() : name->second, geometry}] +=
        static_cast<uint64_t>(l.count[i]);
  }
  std::vector<Launched> all;
  all.reserve(sums.size());
  for (const auto& [key, launches] : sums) all.push_back({key.first, key.second, launches});
  std::stable_sort(all.begin(), all.end(),
                   [](const Launched& a, const Launched& b) { return a.launches > b.launches; });
  return all;
}

}  // namespace

Section kernelsSection(const RecordedWork& work, size_t rows) {
  Section section{.key = "kernels", .title = "Kernels", .json = {}};
  std::vector<Launched> all = launchedOf(work);
  std::set<std::string_view> names;
  uint64_t launches = 0;
  for (const Launched& it : all) {
    launches += it.launches;
    names.insert(it.name);
  }
  constexpr const char* kGeometry = "grid_x, grid_y, grid_z, block_x, block_y, block_z";
  std::string sql = fmt::format(
      "SELECT coalesce(sum(launches), 0) AS launches, count(DISTINCT "
      "coalesce(kernel, '')) AS kernels, count(*) AS geometries FROM (SELECT "
      "kernel, sum(count) AS launches FROM launches GROUP BY kernel, {})",
      kGeometry);
  std::string list_sql = fmt::format(
      "SELECT sum(count) AS launches, 1.0 * sum(count) / (SELECT sum(count) "
      "FROM launches) AS share, {0}, coalesce(kernel, '') AS name FROM "
      "launches GROUP BY name, {0} ORDER BY launches DESC, name, {0}",
      kGeometry);
  json list = json::array();
  if (launches > 0) {
    Sentence sentence{
        {strong(withCommas(launches)), plain(launches == 1 ? " launch of " : " launches of "),
         strong(counted(names.size(), "kernel")), plain(", in "), strong(withCommas(all.size())),
         plain(all.size() == 1 ? " geometry." : " geometries.")},
        sqlLink(sql),
        sql};
    section.sentences.push_back(std::move(sentence));
    Grid grid{.heads = {"launches", "share", "blocks", "threads", "kernel"},
              .more = all.size() - std::min(all.size(), rows),
              .sql = list_sql,
              .link = sqlLink(list_sql)};
    for (size_t i = 0; i < std::min(all.size(), std::max(rows, kMaxWorkJsonRows)); ++i) {
      const Launched& it = all[i];
      double share = static_cast<double>(it.launches) / static_cast<double>(launches);
      if (i < rows) {
        grid.rows.push_back({withCommas(it.launches), fmt::format("{:.1f} %", 100 * share),
                             extent(it.geometry.data()), extent(it.geometry.data() + 3),
                             it.name.empty() ? "name not known" : readableName(it.name)});
      }
      if (i >= kMaxWorkJsonRows) continue;
      list.push_back({{"launches", it.launches},
                      {"share", share},
                      {"grid_x", it.geometry[0]},
                      {"grid_y", it.geometry[1]},
                      {"grid_z", it.geometry[2]},
                      {"block_x", it.geometry[3]},
                      {"block_y", it.geometry[4]},
                      {"block_z", it.geometry[5]},
                      {"name", clean(it.name)}});
    }
    section.grid = std::move(grid);
  }
  section.json = {{"launches", launches},
                  {"kernels", names.size()},
                  {"geometries", all.size()},
                  {"sql", sql},
                  {"rows", list},
                  {"rows_sql", list_sql + fmt::format(" LIMIT {}", kMaxWorkJsonRows)}};
  return section;
}

Section copiesSection(const RecordedWork& work) {
  Section section{.key = "copies", .title = "Copies", .json = {}};
  struct Sum {
    int64_t calls = 0, bytes = 0, host_ns = 0, failures = 0;
  };
  std::map<std::pair<std::string_view, bool>, Sum> sums;
  Sum whole;
  const model::RecordedCopies& c = work.copies;
  for (size_t i = 0; i < c.size(); ++i) {
    std::string_view direction = work.run->strings.text(c.direction[i]);
    for (Sum* sum : {&sums[{direction, c.submitted[i]}], &whole}) {
      sum->calls += c.count[i];  // none of these sums can overflow: readers/recording/sum_limit.h
      sum->bytes += c.size_bytes[i];
      sum->host_ns += c.host_ns[i];
      sum->failures += c.failures[i];
    }
  }
  std::vector<std::pair<std::pair<std::string_view, bool>, Sum>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  std::string sql =
      "SELECT coalesce(sum(count), 0) AS calls, coalesce(sum(size_bytes), 0) AS size_bytes, "
      "coalesce(sum(failures), 0) AS failures FROM copies";
  std::string list_sql =
      "SELECT direction, submitted, sum(count) AS calls, sum(size_bytes) AS size_bytes, "
      "sum(host_ns) AS host_ns, sum(failures) AS failures, sum(host_ns) / 1e6 AS "
      "host_ms, sum(transfer_ns) AS transfer_ns, CASE WHEN sum(transfer_ns) > 0 THEN CAST(1e9 * "
      "sum(size_bytes) / sum(transfer_ns) AS INTEGER) END AS bytes_per_second FROM copies "
      "GROUP BY direction, submitted ORDER BY size_bytes DESC, direction, submitted";
  json list = json::array();
  if (!order.empty()) {
    Sentence sentence{
        {strong(counted(static_cast<uint64_t>(whole.calls), "call")), plain(" copied or set "),
         strong(humanBytes(static_cast<uint64_t>(whole.bytes)))},
        sqlLink(sql),
        sql};
    if (whole.failures > 0) {
      sentence.parts.insert(sentence.parts.end(),
                            {plain("; "), strong(withCommas(static_cast<uint64_t>(whole.failures))),
                             plain(" failed")});
    }
    sentence.parts.push_back(plain("."));
    section.sentences.push_back(std::move(sentence));
    Grid grid{.heads = {"bytes", "calls", "ms in calls", "per second", "failed", "direction"},
              .sql = list_sql,
              .link = sqlLink(list_sql)};
    for (const auto& [key, sum] : order) {
      auto [direction, submitted] = key;
      bool is_transfer = model::isTransferTime(direction, submitted);
      bool timed = is_transfer && sum.host_ns > 0;
      double host_ms = static_cast<double>(sum.host_ns) / 1e6;
      double exact =
          timed ? 1e9 * static_cast<double>(sum.bytes) / static_cast<double>(sum.host_ns) : 0;
      constexpr double kMost = 9e18;  // for hostile files
      int64_t per_second = exact < kMost ? static_cast<int64_t>(exact) : INT64_MAX;
      if (list.size() == kMaxWorkJsonRows) {
        ++grid.more;
        continue;
      }
      grid.rows.push_back({humanBytes(static_cast<uint64_t>(sum.bytes)),
                           withCommas(static_cast<uint64_t>(sum.calls)),
                           fmt::format("{:.{}f}", host_ms, host_ms < 10 ? 3 : 1),
                           timed ? humanBytes(static_cast<uint64_t>(per_second)) : "not timed",
                           withCommas(static_cast<uint64_t>(sum.failures)),
                           std::string(direction) + (submitted ? ", submitted" : "")});
      list.push_back({{"direction", clean(direction)},
                      {"submitted", submitted ? 1 : 0},
                      {"calls", sum.calls},
                      {"size_bytes", sum.bytes},
                      {"host_ns", sum.host_ns},
                      {"transfer_ns", is_transfer ? json(sum.host_ns) : json()},
                      {"failures", sum.failures},
                      {"bytes_per_second", timed ? json(per_second) : json()}});
    }
    section.grid = std::move(grid);
  }
  section.json = {{"calls", whole.calls},
                  {"size_bytes", whole.bytes},
                  {"failures", whole.failures},
                  {"sql", sql},
                  {"rows", list},
                  {"rows_sql", list_sql + fmt::format(" LIMIT {}", kMaxWorkJsonRows)}};
  return section;
}

}  // namespace tidegauge::report
