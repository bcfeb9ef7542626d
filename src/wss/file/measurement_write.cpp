#include <fmt/format.h>

#include "wss/file/measurement.h"
#include "wss/measure/grouping.h"
#include "wss/units.h"
#include "wss/words/json_text.h"
#include "wss/words/row_json.h"

namespace tidegauge::wss {
namespace {

const char* courseName(Course course, bool rolling) {
  if (rolling) return "rolling";
  switch (course) {
    case Course::kSingle:
      return "single";
    case Course::kCumulative:
      return "cumulative";
    case Course::kSnapshots:
      return "snapshots";
    case Course::kProfile:
      return "profile";
  }
  return "single";
}

// Drops the last ones if all are too much for a line; returns their number.
size_t leaveOut(std::vector<Group>& groups) {
  constexpr size_t kBesideItsName = 600;  // of numbers, at most
  size_t bytes = 0, kept = 0;
  for (; kept < groups.size(); ++kept) {
    bytes += kBesideItsName + jsonText(groups[kept].name).size();
    if (bytes > kMaxMappingBytes) break;
  }
  size_t left_out = groups.size() - kept;
  groups.resize(kept);
  return left_out;
}

std::string lineOf(nlohmann::json row) {
  std::string line = jsonText(row);
  if (line.size() < kMaxLineBytes || !row.contains("rolling")) return line;
  row["rolling"].erase("cells");
  return jsonText(row);
}

}  // namespace

MeasurementHead headOf(const Process& process, const Choice& choice, const Plan& plan,
                       bool rolling) {
  const Backend& backend = *choice.backend;
  return {.pid = process.pid(),
          .process = process.name(),
          .backend = std::string(backend.name()),
          .how = backend.how(),
          .why = choice.why,
          .cgroup = backend.traits().cgroup,
          .limits = backend.limits(),
          .course = courseName(plan.course, rolling),
          .window_s = seconds(plan.duration_ns),
          .is_sampled = choice.is_sampled,
          .knows_sharing = backend.traits().knows_sharing,
          .tells_writes = backend.traits().tells_writes,
          .pressure_cgroup = MemoryScope::of(process).cgroup(),
          .machine = lookAtMachine(process)};
}

std::string headLine(const MeasurementHead& head) {
  const Machine& machine = head.machine;
  nlohmann::json json = {{"pid", head.pid},
                         {"process", head.process},
                         {"backend", head.backend},
                         {"how", head.how},
                         {"why", head.why},
                         {"cgroup", head.cgroup},
                         {"limits", head.limits},
                         {"course", head.course},
                         {"window_s", head.window_s},
                         {"is_sampled", head.is_sampled},
                         {"knows_sharing", head.knows_sharing},
                         {"tells_writes", head.tells_writes},
                         {"pressure_cgroup", head.pressure_cgroup},
                         {"machine",
                          {{"l2_bytes", machine.l2_bytes},
                           {"l3_bytes", machine.l3_bytes},
                           {"l3_processors", machine.l3_processors},
                           {"tlb_entries", machine.tlb_entries},
                           {"huge_tlb_entries", machine.huge_tlb_entries},
                           {"limit_bytes", machine.limit_bytes},
                           {"limit_of", machine.limit_of},
                           {"memory_bytes", machine.memory_bytes}}}};
  // The version first, so that a file is recognised by its first bytes.
  return fmt::format(R"({{"tidegauge_wss":{},)", kMeasurementVersion) + jsonText(json).substr(1);
}

std::string RowLines::next(const Row& row, double unix_s, const Plan& plan,
                           const Rolling* rolling) {
  std::vector<Group> groups = groupsOf(row, Grouping::kMapping);
  size_t left_out = leaveOut(groups);
  last_ = rowJson(row, plan, unix_s, groups, head_.knows_sharing, head_.tells_writes);
  if (left_out > 0) last_["mappings_left_out"] = left_out;
  if (rolling != nullptr) {
    last_["rolling"] = rollingJson(*rolling, head_.window_s);
    last_["rolling"]["cells"] = cellsJson(row.pages);
  }
  last_mappings_ = nullptr;
  // A clock that was set back does not keep them out for long.
  constexpr double kMaxWait_s = 3600, kBytes_s = 64 << 10;
  if (unix_s >= allowed_from_s_ || allowed_from_s_ - unix_s > kMaxWait_s) {
    std::string line = lineOf(last_);
    allowed_from_s_ = unix_s + static_cast<double>(jsonText(last_["groups"]).size()) / kBytes_s;
    return line;
  }
  last_mappings_ = std::move(last_["groups"]);
  last_.erase("groups");
  last_["of_others_bytes"] = maybeOfOthers(row);
  return lineOf(last_);
}

std::optional<std::string> RowLines::lastWithMappings() const {
  if (last_mappings_.is_null()) return std::nullopt;
  nlohmann::json whole = last_;
  whole["groups"] = last_mappings_;
  return lineOf(std::move(whole));
}

}  // namespace tidegauge::wss
