#include "wss/words/row_json.h"

#include <fmt/format.h>

#include <cmath>

#include "base/csv.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

nlohmann::json bytesJson(const MappingSums& sums, bool knows_sharing, bool tells_writes) {
  nlohmann::json bytes;
  for (const auto& [name, sum] : kSums) {
    if (knows_sharing || !isOfSharing(sum))
      bytes[sumName(name, sum, tells_writes)] = sums.*sum;
    else
      bytes[name] = nullptr;
  }
  return bytes;
}

nlohmann::json windowJson(const Window& window) {
  return {{"least", seconds(window.least_ns)},
          {"mean", seconds(window.mean_ns)},
          {"most", seconds(window.most_ns)}};
}

nlohmann::json workJson(const Work& work) {
  nlohmann::json fields = {
      {"cpu_s", nullptr}, {"minor_faults", nullptr}, {"major_faults", nullptr}};
  if (work.ran_ns) fields["cpu_s"] = seconds(*work.ran_ns);
  if (work.minor_faults) fields["minor_faults"] = *work.minor_faults;
  if (work.major_faults) fields["major_faults"] = *work.major_faults;
  return fields;
}

nlohmann::json limitJson(const Meanwhile& meanwhile) {
  if (meanwhile.limit_bytes == 0) return nullptr;
  return {{"bytes", meanwhile.limit_bytes},
          {"cgroup", meanwhile.limit_of},
          {"charged_bytes", meanwhile.charged_bytes}};
}

nlohmann::json cgroupJson(const Meanwhile& meanwhile) {
  if (!meanwhile.memory) return nullptr;
  const CgroupMemory& memory = *meanwhile.memory;
  return {{"path", meanwhile.cgroup},
          {"charged_bytes", memory.charged},
          {"working_set_bytes", memory.workingSet()},
          {"cache_bytes", memory.cache},
          {"unmapped_cache_bytes", memory.unmappedCache()},
          {"own_bytes", memory.own}};
}

}  // namespace

const char* sumName(const char* name, uint64_t MappingSums::*sum, bool tells_writes) {
  return tells_writes && sum == &MappingSums::referenced ? "written" : name;
}

nlohmann::json rowJson(const Row& row, const Plan& plan, double unix_s,
                       const std::vector<Group>& groups, bool knows_sharing, bool tells_writes) {
  nlohmann::json json = {{"time", unix_s},
                         {"window_s", windowJson(row.window)},
                         {"slept_s", seconds(row.slept_ns)},
                         {"taken_s", seconds(row.taken_ns)},
                         {"estimate_s", seconds(row.estimate_ns)},
                         {"bytes", bytesJson(row.sums, knows_sharing, tells_writes)},
                         {"cost",
                          {{"cpu_s", seconds(row.cost.cpu_ns)},
                           {"stall_s", seconds(row.cost.stall_ns)},
                           {"stopped_s", seconds(row.cost.stopped_ns)},
                           {"clear_s", seconds(row.clear.duration_ns())},
                           {"read_s", seconds(row.read.duration_ns())}}}};
  // Half of the 95 % confidence interval of the touched bytes; 0: all pages were examined.
  json["error"] = {{"referenced_ci95", row.error_bytes.value_or(0)},
                   {"method", row.error_bytes ? "sample" : "exact"},
                   {"uncleared_bytes", row.uncleared_bytes},
                   {"unread_bytes", row.unread_bytes},
                   {"unmapped_marks_bytes", row.unmapped_bytes},
                   {"at_least", isAtLeast(row)},
                   {"flushed", row.is_flushed},
                   {"reclaimed_bytes", row.gone_bytes},
                   {"repeated_bytes", row.repeated_bytes}};
  json["error"]["unseen"] = nlohmann::json::array();
  for (Toucher one : row.meanwhile.unseen.list()) json["error"]["unseen"].push_back(jsonName(one));
  json["once"] = nullptr;
  if (row.once) json["once"] = {{"rss", row.once->rss}, {"referenced", row.once->referenced}};
  if (!row.knows_error) {
    json["error"]["referenced_ci95"] = nullptr;
    json["error"]["method"] = "regions";
  }
  if (tells_writes) {
    double all_s = allWrittenAfter_s(row);
    json["writes"] = {{"bytes_per_s", std::llround(writeRate(row))},
                      {"all_after_s", all_s > 0 ? nlohmann::json(all_s) : nlohmann::json()}};
  }
  json["pressure"] = pressureJson(row.meanwhile.pressure);
  json["pressure"]["of_machine"] = row.meanwhile.scans_machine;
  json["limit"] = limitJson(row.meanwhile);
  json["cgroup"] = cgroupJson(row.meanwhile);
  json["work"] = workJson(row.meanwhile.work);
  json["window_s"]["asked"] = seconds(plan.duration_ns);
  nlohmann::json list = nlohmann::json::array();
  for (const Group& group : groups) {
    nlohmann::json one = {{"name", group.name},
                          {"kind", name(group.kind)},
                          {"mappings", group.mappings},
                          {"window_s", windowJson(group.window)},
                          {"bytes", bytesJson(group.sums, knows_sharing, tells_writes)}};
    if (group.end != 0) one["start"] = group.start, one["end"] = group.end;
    list.push_back(std::move(one));
  }
  if (!list.empty()) json["groups"] = std::move(list);
  return json;
}

nlohmann::json rollingJson(const Rolling& rolling, double window_s) {
  nlohmann::json json = {{"never_bytes", rolling.never}, {"first_bytes", rolling.first}};
  for (const Rolling::Within& within : rolling.within)
    json["within"].push_back({{"windows", within.windows},
                              {"seconds", within.windows * window_s},
                              {"bytes", within.bytes},
                              {"at_least", within.is_at_least}});
  for (size_t bin = 0; bin < rolling.again.size(); ++bin) {
    uint64_t most = uint64_t{1} << bin, least = bin == 0 ? 1 : most / 2 + 1;
    bool is_last = bin + 1 == rolling.again.size();
    json["again"].push_back(
        {{"after_windows_least", least},
         {"after_windows_most", is_last ? nlohmann::json() : nlohmann::json(most)},
         {"bytes", rolling.again[bin]}});
  }
  return json;
}

nlohmann::json cellsJson(std::span<const PageBits> pages) {
  nlohmann::json list = nlohmann::json::array();
  for (const HeatMap::Cell& cell : cellsOf(pages))
    list.push_back({cell.address, cell.there, cell.touched});
  return list;
}

std::string csvHeader(bool tells_writes) {
  std::string text = "time,window_s,window_least_s,window_most_s";
  for (const auto& [name, sum] : kSums)
    text += fmt::format(",{}_bytes", sumName(name, sum, tells_writes));
  return text +
         ",referenced_ci95_bytes,cpu_s,stall_s,clear_s,read_s,at_least,reclaimed_bytes,"
         "refaulted_bytes,process_cpu_s,stopped_s" +
         base::kCsvLineEnd;
}

std::string csvRow(const Row& row, double unix_s, bool knows_sharing) {
  std::string text = fmt::format("{:.6f},{:.6f},{:.6f},{:.6f}", unix_s, seconds(row.window.mean_ns),
                                 seconds(row.window.least_ns), seconds(row.window.most_ns));
  for (const auto& [name, sum] : kSums)
    text += knows_sharing || !isOfSharing(sum) ? fmt::format(",{}", row.sums.*sum) : ",";
  text += row.knows_error ? fmt::format(",{:.0f}", row.error_bytes.value_or(0)) : ",";
  text += fmt::format(",{:.6f},{:.6f},{:.6f},{:.6f}", seconds(row.cost.cpu_ns),
                      seconds(row.cost.stall_ns), seconds(row.clear.duration_ns()),
                      seconds(row.read.duration_ns()));
  text += fmt::format(",{:d},{},{},", isAtLeast(row) ? 1 : 0, row.gone_bytes,
                      row.meanwhile.pressure.counted.refaulted());
  if (auto ran_ns = row.meanwhile.work.ran_ns) text += fmt::format("{:.6f}", seconds(*ran_ns));
  text += fmt::format(",{:.6f}", seconds(row.cost.stopped_ns));
  return text + base::kCsvLineEnd;
}

}  // namespace tidegauge::wss
