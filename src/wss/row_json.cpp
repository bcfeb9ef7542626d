#include "wss/row_json.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/csv.h"

namespace tidegauge::wss {
namespace {

double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

constexpr std::array<std::pair<const char*, uint64_t MappingSums::*>, 9> kSums{
    {{"rss", &MappingSums::rss},
     {"pss", &MappingSums::pss},
     {"referenced", &MappingSums::referenced},
     {"shared", &MappingSums::shared},
     {"dirty", &MappingSums::dirty},
     {"huge", &MappingSums::huge},
     {"hugetlb", &MappingSums::hugetlb},
     {"swap", &MappingSums::swap},
     {"locked", &MappingSums::locked}}};

bool isOfSmaps(uint64_t MappingSums::*sum) {
  return sum == &MappingSums::pss || sum == &MappingSums::shared || sum == &MappingSums::locked;
}

nlohmann::json bytesJson(const MappingSums& sums, bool knows_sharing) {
  nlohmann::json bytes;
  for (const auto& [name, sum] : kSums) {
    if (knows_sharing || !isOfSmaps(sum))
      bytes[name] = sums.*sum;
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

}  // namespace

nlohmann::json rowJson(const Row& row, const Plan& plan, double unix_s,
                       const std::vector<Group>& groups, bool knows_sharing) {
  nlohmann::json json = {{"time", unix_s},
                         {"window_s", windowJson(row.window)},
                         {"slept_s", seconds(row.slept_ns)},
                         {"taken_s", seconds(row.taken_ns)},
                         {"estimate_s", seconds(row.estimate_ns)},
                         {"bytes", bytesJson(row.sums, knows_sharing)},
                         {"cost",
                          {{"cpu_s", seconds(row.cost.cpu_ns)},
                           {"stall_s", seconds(row.cost.stall_ns)},
                           {"clear_s", seconds(row.clear.duration_ns())},
                           {"read_s", seconds(row.read.duration_ns())}}}};
  // Half of the interval that holds what was touched with 95 %; 0: all pages were looked at.
  json["error"] = {{"referenced_ci95", row.error_bytes.value_or(0)},
                   {"method", row.error_bytes ? "sample" : "exact"}};
  json["window_s"]["asked"] = seconds(plan.duration_ns);
  nlohmann::json list = nlohmann::json::array();
  for (const Group& group : groups) {
    nlohmann::json one = {{"name", group.name},
                          {"kind", name(group.kind)},
                          {"mappings", group.mappings},
                          {"window_s", windowJson(group.window)},
                          {"bytes", bytesJson(group.sums, knows_sharing)}};
    if (group.end != 0) one["start"] = group.start, one["end"] = group.end;
    list.push_back(std::move(one));
  }
  if (!list.empty()) json["groups"] = std::move(list);
  return json;
}

std::string csvHeader() {
  std::string text = "time,window_s,window_least_s,window_most_s";
  for (const auto& [name, sum] : kSums) text += fmt::format(",{}_bytes", name);
  return text + ",referenced_ci95_bytes,cpu_s,stall_s,clear_s,read_s" + base::kCsvLineEnd;
}

std::string csvRow(const Row& row, double unix_s, bool knows_sharing) {
  std::string text = fmt::format("{:.6f},{:.6f},{:.6f},{:.6f}", unix_s, seconds(row.window.mean_ns),
                                 seconds(row.window.least_ns), seconds(row.window.most_ns));
  for (const auto& [name, sum] : kSums)
    text += knows_sharing || !isOfSmaps(sum) ? fmt::format(",{}", row.sums.*sum) : ",";
  return text + fmt::format(",{:.0f},{:.6f},{:.6f},{:.6f},{:.6f}{}", row.error_bytes.value_or(0),
                            seconds(row.cost.cpu_ns), seconds(row.cost.stall_ns),
                            seconds(row.clear.duration_ns()), seconds(row.read.duration_ns()),
                            base::kCsvLineEnd);
}

}  // namespace tidegauge::wss
