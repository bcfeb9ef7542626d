// The sections "device_times" and "device_copies": what the device measured (--device-times).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/format.h"
#include "model/pcie_link.h"
#include "report/recording/cut_mangled.h"
#include "report/recording/recording_report.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {
namespace {

using base::humanBytes;
using base::withCommas;
using model::DeviceWork;
using model::RecordedWork;
using nlohmann::json;

constexpr size_t kMaxDeviceRows = 50;
constexpr double kMs = 1e6;
constexpr double kGb = 1e9;

// Time in which at least one of these ran: two that overlap count once. Rows come by start.
struct Busy {
  int64_t ns = 0, until_ns = INT64_MIN;
  void add(int64_t start_ns, int64_t end_ns) {
    int64_t from_ns = std::max(start_ns, until_ns);
    if (end_ns > from_ns) ns += end_ns - from_ns;
    until_ns = std::max(until_ns, end_ns);
  }
};
// The same in SQL: a column busy_ns for each row of device_activities.
std::string busySql(const char* groups) {
  return fmt::format(
      "SELECT *, max(0, end_ns - max(start_ns, coalesce(max(end_ns) OVER (PARTITION BY {} ORDER BY "
      "start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start_ns))) AS busy_ns "
      "FROM device_activities",
      groups);
}

// Which GPU is which CUDA device is not recorded, so the link is known if all have the same.
std::optional<int64_t> linkOf(const RecordedWork& work) {
  const model::RecordedDevices& devices = work.run->devices;
  std::optional<int64_t> link;
  for (size_t i = 0; i < devices.size(); ++i) {
    auto of_device = model::pcieBytesPerSecond(devices.pcie_generation[i], devices.pcie_lanes[i]);
    if (!of_device || (link && link != of_device)) return std::nullopt;
    link = of_device;
  }
  return link;
}
// (GCC 12 takes a conditional expression for one that reads an absent value.)
json orNull(const auto& number) {
  json text;
  if (number) text = *number;
  return text;
}
constexpr const char* kLinkSql =
    "(SELECT CASE WHEN count(link_bytes_per_second) = count(*) AND min(link_bytes_per_second) = "
    "max(link_bytes_per_second) THEN min(link_bytes_per_second) END FROM gpus)";

bool usesLink(std::string_view direction) {
  return direction == "host to device" || direction == "device to host";
}

json programsJson(const RecordedWork& work) {
  const model::RecordedDevicePrograms& programs = work.run->device_programs;
  auto text = [&](base::StringId id) {
    return id.valid() ? json(clean(work.run->strings.text(id))) : json();
  };
  json list = json::array();
  for (size_t i = 0; i < programs.size() && list.size() < kMaxDeviceRows; ++i) {
    if (programs.process_id[i] != work.process_id) continue;
    list.push_back(
        {{"outcome", text(programs.outcome[i])},
         {"reason", text(programs.reason[i])},
         {"library", text(programs.library[i])},
         {"version",
          programs.version[i] == model::kNotRecorded ? json() : json(programs.version[i])},
         {"clock_error_ns", programs.clock_error_ns[i]}});
  }
  return list;
}

void addProgramWords(const RecordedWork& work, bool has_rows, Section& section) {
  const model::RecordedDevicePrograms& programs = work.run->device_programs;
  std::string sql =
      fmt::format("SELECT outcome, reason, library FROM device_programs WHERE process_id = {}",
                  work.process_id);
  bool is_known = false;
  for (size_t i = 0; i < programs.size(); ++i) {
    if (programs.process_id[i] != work.process_id) continue;
    is_known = true;
    std::string_view reason;
    if (programs.reason[i].valid()) reason = work.run->strings.text(programs.reason[i]);
    if (reason.empty() && has_rows) continue;
    section.sentences.push_back(
        {{plain(reason.empty() ? "CUPTI was switched on and delivered no kernel, copy or set."
                               : fmt::format("Not timed: {}.", clean(reason)))},
         sqlLink(sql),
         sql});
  }
  if (!is_known && !has_rows)
    section.sentences.push_back({{plain("Not timed: this program did not load the library of "
                                        "--device-times.")},
                                 sqlLink(sql),
                                 sql});
}

std::string inMilliseconds(int64_t ns) {
  double ms = static_cast<double>(ns) / kMs;
  return fmt::format("{:.{}f}", ms, ms < 10 ? 3 : 1);
}

}  // namespace

Section deviceTimesSection(const RecordedWork& work, size_t rows) {
  Section section{.key = "device_times", .title = "Device times", .json = {}};
  const model::RecordedDeviceActivities& a = work.device_activities;
  struct Sum {
    int64_t launches = 0, ns = 0;
  };
  std::map<std::string_view, Sum> sums;
  std::map<int32_t, Busy> busy;
  int64_t kernels_ns = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    busy[a.device[i]].add(a.start_ns[i], a.end_ns[i]);
    if (a.kind[i] != DeviceWork::kKernel) continue;
    std::string_view name;
    if (a.name[i].valid()) name = work.run->strings.text(a.name[i]);
    Sum& sum = sums[name];
    sum.launches += 1;
    sum.ns += a.end_ns[i] - a.start_ns[i];  // does not overflow: readers/recording/sum_limit.h
    kernels_ns += a.end_ns[i] - a.start_ns[i];
  }
  int64_t busy_ns = 0;
  for (const auto& [device, it] : busy) busy_ns += it.ns;
  std::vector<std::pair<std::string_view, Sum>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& x, const auto& y) { return x.second.ns > y.second.ns; });
  std::string sql = fmt::format(
      "SELECT count(*) AS activities, coalesce(sum(busy_ns), 0) AS busy_ns, "
      "coalesce(sum(busy_ns), 0) / 1e6 AS busy_ms FROM ({})",
      busySql("device"));
  std::string list_sql =
      "SELECT sum(end_ns - start_ns) / 1e6 AS device_ms, sum(end_ns - start_ns) AS device_ns, 1.0 "
      "* sum(end_ns - start_ns) / max(1, (SELECT sum(end_ns - start_ns) FROM device_activities "
      "WHERE kind = 'kernel')) AS share, count(*) AS launches, avg(end_ns - start_ns) / 1e3 AS "
      "mean_us, coalesce(kernel, '') AS name FROM device_activities WHERE kind = 'kernel' GROUP "
      "BY name ORDER BY device_ns DESC, name";
  if (a.size() > 0) {
    section.sentences.push_back(
        {{plain(busy.size() == 1 ? "The device ran "
                                 : fmt::format("{} devices ran ", withCommas(busy.size()))),
          strong(withCommas(a.size())),
          plain(a.size() == 1 ? " kernel, copy or set" : " kernels, copies and sets"),
          plain(busy.size() == 1 ? ", and was busy with them for "
                                 : ", and were busy with them, added up, for "),
          strong(inMilliseconds(busy_ns) + " ms"), plain(".")},
         sqlLink(sql),
         sql});
  }
  if (work.run->has_device_times) addProgramWords(work, a.size() > 0, section);
  json list = json::array();
  if (!order.empty()) {
    Grid grid{.heads = {"device ms", "share", "launches", "mean µs", "kernel"},
              .more = order.size() - std::min(order.size(), rows),
              .sql = list_sql,
              .link = sqlLink(list_sql)};
    for (size_t i = 0; i < std::min(order.size(), std::max(rows, kMaxDeviceRows)); ++i) {
      const auto& [name, sum] = order[i];
      double share =
          static_cast<double>(sum.ns) / static_cast<double>(std::max<int64_t>(1, kernels_ns));
      double mean_us = static_cast<double>(sum.ns) / static_cast<double>(sum.launches) / 1e3;
      if (i < rows)
        grid.rows.push_back({inMilliseconds(sum.ns), fmt::format("{:.1f} %", 100 * share),
                             withCommas(static_cast<uint64_t>(sum.launches)),
                             fmt::format("{:.1f}", mean_us),
                             name.empty() ? "name not known" : readableName(name)});
      if (i >= kMaxDeviceRows) continue;
      list.push_back({{"device_ns", sum.ns},
                      {"share", share},
                      {"launches", sum.launches},
                      {"mean_us", mean_us},
                      {"name", clean(name)}});
    }
    section.grid = std::move(grid);
  }
  section.json = {
      {"asked", work.run->has_device_times},
      {"activities", a.size()},
      {"busy_ns", busy_ns},
      {"sql", sql},
      {"programs", programsJson(work)},
      {"programs_sql", fmt::format("SELECT outcome, reason, library, version, clock_error_ns FROM "
                                   "device_programs WHERE process_id = {} LIMIT {}",
                                   work.process_id, kMaxDeviceRows)},
      {"rows", list},
      {"rows_sql", list_sql + fmt::format(" LIMIT {}", kMaxDeviceRows)}};
  return section;
}

Section deviceCopiesSection(const RecordedWork& work) {
  Section section{.key = "device_copies", .title = "Copies by device time", .json = {}};
  const model::RecordedDeviceActivities& a = work.device_activities;
  struct Sum {
    int64_t copies = 0, bytes = 0;
    Busy busy;
  };
  std::map<std::pair<std::string_view, int32_t>, Sum> sums;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a.kind[i] == DeviceWork::kKernel) continue;
    Sum& sum = sums[{work.run->strings.text(a.direction[i]), a.device[i]}];
    sum.copies += 1;
    sum.bytes += a.size_bytes[i];
    sum.busy.add(a.start_ns[i], a.end_ns[i]);
  }
  std::vector<std::pair<std::pair<std::string_view, int32_t>, Sum>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& x, const auto& y) { return x.second.bytes > y.second.bytes; });
  std::optional<int64_t> link = linkOf(work);
  // Where the processor's own link to the GPU is another (NVLink), PCIe's rate says nothing.
  bool is_exceeded = false;
  for (const auto& [key, sum] : order)
    is_exceeded |= link && usesLink(key.first) && sum.busy.ns > 0 &&
                   static_cast<double>(sum.bytes) / static_cast<double>(sum.busy.ns) * kGb >
                       static_cast<double>(*link);
  if (is_exceeded) link.reset();
  std::string with = fmt::format(
      "WITH copied AS (SELECT direction, device, count(*) AS copies, sum(size_bytes) AS "
      "size_bytes, sum(busy_ns) AS busy_ns, CASE WHEN sum(busy_ns) > 0 THEN 1.0 * sum(size_bytes) "
      "/ sum(busy_ns) END AS gb_per_s, direction IN ('host to device', 'device to host') AS "
      "uses_link FROM ({} WHERE kind <> 'kernel') GROUP BY direction, device), link AS (SELECT "
      "CASE WHEN coalesce((SELECT max(gb_per_s) FROM copied WHERE uses_link), 0) * 1e9 <= {} THEN "
      "{} END AS bytes_per_second) ",
      busySql("direction, device"), kLinkSql, kLinkSql);
  std::string sql = with +
                    "SELECT bytes_per_second AS link_bytes_per_second, bytes_per_second / 1e9 AS "
                    "link_gb_per_s FROM link";
  std::string list_sql =
      with +
      "SELECT direction, device, copies, size_bytes, busy_ns, busy_ns / 1e6 AS busy_ms, gb_per_s, "
      "CASE WHEN uses_link THEN 1e9 * gb_per_s / (SELECT bytes_per_second FROM link) END AS "
      "link_share FROM copied ORDER BY size_bytes DESC, direction, device";
  json list = json::array();
  if (!order.empty()) {
    if (link)
      section.sentences.push_back(
          {{plain("The link carries "),
            strong(fmt::format("{:.1f} GB/s", static_cast<double>(*link) / kGb)),
            plain(" each way.")},
           sqlLink(sql),
           sql});
    else
      section.sentences.push_back(
          {{plain(is_exceeded
                      ? "The share of the link is not given: copies were faster than PCIe can be, "
                        "so another link carried them."
                  : work.run->devices.size() > 0
                      ? "The share of the link is not given: NVML does not state the link, or the "
                        "GPUs have different ones."
                      : "The share of the link is not given: NVML was not there.")},
           sqlLink(sql),
           sql});
    Grid grid{
        .heads = {"bytes", "copies", "device ms", "GB/s", "of the link", "device", "direction"},
        .sql = list_sql,
        .link = sqlLink(list_sql)};
    for (const auto& [key, sum] : order) {
      auto [direction, device] = key;
      std::optional<double> rate, share;
      if (sum.busy.ns > 0) rate = static_cast<double>(sum.bytes) / static_cast<double>(sum.busy.ns);
      if (rate && link && usesLink(direction)) share = *rate * kGb / static_cast<double>(*link);
      if (list.size() == kMaxDeviceRows) {
        ++grid.more;
        continue;
      }
      grid.rows.push_back({humanBytes(static_cast<uint64_t>(sum.bytes)),
                           withCommas(static_cast<uint64_t>(sum.copies)),
                           inMilliseconds(sum.busy.ns), rate ? fmt::format("{:.1f}", *rate) : "–",
                           share ? fmt::format("{:.1f} %", 100 * *share) : "–",
                           std::to_string(device), std::string(direction)});
      list.push_back({{"direction", clean(direction)},
                      {"device", device},
                      {"copies", sum.copies},
                      {"size_bytes", sum.bytes},
                      {"busy_ns", sum.busy.ns},
                      {"gb_per_s", orNull(rate)},
                      {"link_share", orNull(share)}});
    }
    section.grid = std::move(grid);
  }
  section.json = {{"link_bytes_per_second", orNull(link)},
                  {"sql", sql},
                  {"rows", list},
                  {"rows_sql", list_sql + fmt::format(" LIMIT {}", kMaxDeviceRows)}};
  return section;
}

}  // namespace tidegauge::report
