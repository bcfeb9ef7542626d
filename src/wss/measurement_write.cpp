#include <fmt/format.h>

#include "wss/grouping.h"
#include "wss/measurement.h"
#include "wss/row_json.h"
#include "wss/units.h"

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

// Names may hold any bytes.
std::string dumped(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
          .cgroup = backend.cgroup(),
          .limits = backend.limits(),
          .course = courseName(plan.course, rolling),
          .window_s = seconds(plan.duration_ns),
          .is_sampled = choice.is_sampled,
          .knows_sharing = backend.knowsSharing(),
          .tells_writes = backend.tellsWrites(),
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
  // The version first, so that a file is known by its first bytes.
  return fmt::format(R"({{"tidegauge_wss":{},)", kMeasurementVersion) + dumped(json).substr(1);
}

std::string rowLine(const MeasurementHead& head, const Row& row, double unix_s, const Plan& plan,
                    const Rolling* rolling, const MemoryCounters& pressure) {
  nlohmann::json json = rowJson(row, plan, unix_s, groupsOf(row, Grouping::kMapping),
                                head.knows_sharing, head.tells_writes);
  json["pressure"] = pressureJson(pressure, row.taken_ns);
  if (rolling == nullptr) return dumped(json);
  json["rolling"] = rollingJson(*rolling, head.window_s);
  json["rolling"]["cells"] = cellsJson(row.pages);
  std::string line = dumped(json);
  if (line.size() < kMostLineBytes) return line;
  json["rolling"].erase("cells");
  return dumped(json);
}

}  // namespace tidegauge::wss
