#include "cli/wss/wss_several.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/file_limit.h"
#include "base/format.h"
#include "base/text_layout.h"
#include "cli/open_trace.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "cli/wss/wss_common.h"
#include "cli/wss/wss_several_writer.h"
#include "wss/process/watched.h"

namespace tidegauge::cli {
namespace {

// Some of what was asked for could not be read: as of files.
constexpr int kPartial = 3;

// Windows one after another, each from a clearing of its own, take in who began since the one
// before. The others are of those who were there at first.
base::Status measureEach(wss::Watched& watched, wss::Backend& backend, const wss::Plan& plan,
                         RealClock& clock, WssSeveralWriter& writer) {
  std::set<pid_t> measured;
  wss::Plan one = plan;
  bool takes_in = plan.course == wss::Course::kSnapshots;
  if (takes_in) one.course = wss::Course::kSingle;
  for (int64_t began_ns = clock.now_ns();;) {
    std::vector<const wss::Process*> all;
    for (const wss::Process& process : watched.processes()) all.push_back(&process);
    std::map<pid_t, std::string> gone;
    bool goes_on = true;
    auto onRows = [&](std::span<const wss::Outcome> outcomes) {
      for (size_t i = 0; i < outcomes.size(); ++i) {
        if (outcomes[i].gone)
          gone[all[i]->pid()] = outcomes[i].gone->what;
        else
          measured.insert(all[i]->pid());
      }
      goes_on = writer.rows(outcomes);
      watched.toldBegan();
      return goes_on;
    };
    base::Status status = wss::measureAll(all, backend, one, clock, onRows);
    for (const auto& [pid, why] : gone) watched.forget(pid, why, measured.contains(pid));
    bool is_over = plan.total_ns && clock.now_ns() - began_ns + plan.pause_ns >= *plan.total_ns;
    if (!status.ok() || !takes_in || !goes_on || is_over || clock.isEnding()) return status;
    clock.sleep(plan.pause_ns);
    if (clock.isEnding()) return status;
    TG_RETURN_IF_ERROR(watched.look());
  }
}

std::string plural(size_t processes) {
  return processes == 1 ? "one process" : fmt::format("{} processes", processes);
}

// What would be done, to whom, and for how much.
int runDry(const wss::Watched& watched, const wss::Choice& choice) {
  Output out;
  auto say = [&](const std::string& words) {
    out.write(base::wrapped(words, pageColumns(), 0, 2));
  };
  uint64_t rss_bytes = 0;
  wss::Cost all;
  for (const wss::Process& process : watched.processes()) {
    uint64_t its_bytes = process.resident().bytes;
    rss_bytes += its_bytes;
    auto cost = wss::predictedFor(*choice.backend, process).value_or(wss::Cost{});
    all.cpu_ns += cost.cpu_ns;
    all.stall_ns = std::max(all.stall_ns, cost.stall_ns);
    say(fmt::format("{} (process {}), {} in memory", base::printable(process.name()), process.pid(),
                    base::humanBytes(its_bytes)));
  }
  say(
      fmt::format("Would look at {}, with {} in memory (what they share counted more than "
                  "once), by {}: {}.",
                  plural(watched.processes().size()), base::humanBytes(rss_bytes),
                  choice.backend->name(), choice.backend->how()));
  say(fmt::format(
      "A window costs some {:.1f} ms of a processor; mmap, "
      "munmap and brk of a process may wait for {:.1f} ms.",
      static_cast<double>(all.cpu_ns) * 1e-6, static_cast<double>(all.stall_ns) * 1e-6));
  out.write(choiceNotes(choice, pageColumns()));
  say("Nothing was measured, and nothing of them was changed.");
  return out.finish(watched.leftOut().empty() ? 0 : kPartial);
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
  if (options.compat)
    return usageError("--compat is for one process alone: wss.pl takes no more",
                      "For several processes use --csv, --json or --jsonl");
  if (options.heat || !options.plot.empty())
    return usageError("--heat and --plot draw the addresses of one process",
                      "For several processes use --rolling without them");
  bool is_exact = options.sample == "auto" || options.sample == "exact";
  if (!is_exact ||
      (options.backend != "auto" && options.backend != "pte" && options.backend != "smaps"))
    return usageError("several processes are measured by pte or smaps, all of their pages",
                      "Leave out --sample and --backend, or measure one process");
  return 0;
}

int runSeveral(const WssOptions& options, const wss::Plan& plan) {
  base::allowManyFiles();  // each process is two
  wss::Watched watched({options.pids, options.children, options.comm, options.cgroup},
                       [](const wss::LeftOut& one) {
                         complain("tidegauge: " + base::printable(one.why) + ": left out");
                       });
  if (auto status = watched.look(); !status.ok()) return reportError(status.error());
  if (watched.processes().empty()) {
    complain("tidegauge: none of the processes can be measured");
    return kPartial;
  }
  auto choice = wss::chooseBackend({.backend = options.backend,
                                    .sample = "exact",
                                    .needs_sharing = false,
                                    .needs_pages = options.rolling > 0,
                                    .most_stall_ms = options.most_stall_ms,
                                    .window_ns = plan.duration_ns},
                                   watched.processes().front());
  if (!choice.ok()) return reportError(choice.error());
  wss::Backend& backend = *choice.value().backend;
  if (options.dry_run) return runDry(watched, choice.value());
  bool knows_frames = backend.keepFrames();
  RealClock clock;
  Output out;
  WssSeveralWriter writer(options, plan, choice.value(), knows_frames, watched, out);
  base::Status status = measureEach(watched, backend, plan, clock, writer);
  writer.end(watched.unseen(), status);
  int code = status.ok() ? 0 : reportError(status.error());
  if (code == 0 && !watched.leftOut().empty()) code = kPartial;
  return out.finish(endOfMeasurement(code, clock, writer.count()));
}

}  // namespace tidegauge::cli
