#include "cli/wss_several.h"

#include <fmt/format.h>

#include "base/file_limit.h"
#include "base/text_layout.h"
#include "cli/open_trace.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cli/wss_common.h"
#include "wss/choose.h"
#include "wss/several_text.h"
#include "wss/targets.h"

namespace tidegauge::cli {
namespace {

// Those that can be opened; of whoever cannot a line.
std::vector<wss::Process> openAll(const std::vector<pid_t>& pids) {
  std::vector<wss::Process> processes;
  for (pid_t pid : pids) {
    auto process = wss::Process::open(pid);
    if (process.ok()) {
      processes.push_back(std::move(process).value());
    } else {
      complain("tidegauge: " + process.error().what + ": left out");
    }
  }
  return processes;
}

std::string headText(size_t processes, const wss::Choice& choice) {
  std::string words =
      fmt::format("Touched by {} process{}, by {}: {}.", processes, processes == 1 ? "" : "es",
                  choice.backend->name(), choice.backend->how());
  return base::wrapped(words, pageColumns(), 0, 2) + choiceNotes(choice, pageColumns());
}

}  // namespace

bool isOfSeveral(const WssOptions& options) {
  return options.pids.size() > 1 || options.children || !options.comm.empty() ||
         !options.cgroup.empty();
}

int checkSeveral(const WssOptions& options) {
  if (!isOfSeveral(options)) return 0;
  if (options.children && options.pids.empty())
    return usageError("--children wants the process whose children are meant",
                      "tidegauge wss --children 4711 0.1");
  if (options.compat || options.csv || !options.by.empty() || options.rolling > 0 ||
      options.dry_run)
    return usageError("--compat, --csv, --by, --rolling and --dry-run are for one process alone",
                      "Take --json or --jsonl for programs");
  bool is_exact = options.sample == "auto" || options.sample == "exact";
  if (!is_exact ||
      (options.backend != "auto" && options.backend != "pte" && options.backend != "smaps"))
    return usageError("several processes are measured by pte or smaps, all of their pages",
                      "Leave out --sample and --backend");
  return 0;
}

int runSeveral(const WssOptions& options, const wss::Plan& plan) {
  auto pids = wss::findTargets({options.pids, options.children, options.comm, options.cgroup});
  if (!pids.ok()) return reportError(pids.error());
  base::allowManyFiles();  // each process is two
  std::vector<wss::Process> processes = openAll(pids.value());
  if (processes.empty()) {
    complain("tidegauge: none of the processes can be measured");
    return 3;
  }
  auto choice = wss::chooseBackend({.backend = options.backend,
                                    .sample = "exact",
                                    .needs_sharing = false,
                                    .needs_pages = false,
                                    .most_stall_ms = options.most_stall_ms,
                                    .window_ns = plan.duration_ns},
                                   processes.front());
  if (!choice.ok()) return reportError(choice.error());
  wss::Backend& backend = *choice.value().backend;
  bool knows_frames = backend.keepFrames();
  std::vector<const wss::Process*> all;
  for (const wss::Process& process : processes) all.push_back(&process);
  RealClock clock;
  Output out;
  bool is_json = options.json || options.jsonl;
  if (!is_json) out.write(headText(processes.size(), choice.value()));
  nlohmann::json head = {{"backend", backend.name()},
                         {"how", backend.how()},
                         {"why", choice.value().why},
                         {"limits", backend.limits()}};
  nlohmann::json rows = nlohmann::json::array();
  int count = 0;
  auto onRows = [&](std::span<const wss::Outcome> outcomes) {
    std::vector<wss::Member> members;
    std::vector<std::span<const wss::Frame>> frames;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      members.push_back({processes[i].pid(), processes[i].name(), &outcomes[i]});
      if (outcomes[i].row) frames.emplace_back(outcomes[i].row->frames);
    }
    std::optional<wss::Once> once;
    if (knows_frames) once = wss::onceOf(frames);
    if (is_json) {
      nlohmann::json row =
          wss::severalJson(members, once, plan, unixSeconds(), backend.knowsSharing());
      if (options.jsonl) {
        row.update(head);
        out.print("{}\n", dumpedJson(row, -1));
      } else {
        rows.push_back(std::move(row));
      }
    } else {
      out.write((count > 0 ? "\n" : "") +
                wss::severalText(members, once, options.top, pageColumns()));
    }
    count += 1;
    out.flush();
    return !out.failed();
  };
  auto status = wss::measureAll(all, backend, plan, clock, onRows);
  if (options.json) {
    head["rows"] = std::move(rows);
    out.print("{}\n", dumpedJson(head, 2));
  }
  int code = status.ok() ? 0 : reportError(status.error());
  return out.finish(endOfMeasurement(code, clock, count));
}

}  // namespace tidegauge::cli
