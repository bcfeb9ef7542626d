#include "cli/watch/live_options.h"

#include "cli/options/usage.h"

namespace tidegauge::cli {

void addTargetOptions(CLI::App& command, LiveTargets& targets) {
  command.add_option("-p,--pid", targets.pids, "Processes that run already, and their children")
      ->check(wholeNumber(1, kMostPid))
      ->type_name("PID");
  command.add_flag("--all", targets.all, "Every process of the machine (also if none is named)");
  command.add_option("--comm", targets.name_glob, "Processes by name, as in 'python*'")
      ->type_name("GLOB");
  command.add_option("--cgroup", targets.cgroup, "Processes of a cgroup (v2), a container's say")
      ->type_name("FOLDER");
  command.add_flag("--no-framework", targets.no_framework, "Leave out PyTorch's own blocks");
}

int checkTargets(const LiveTargets& targets) {
  if (!targets.pids.empty() &&
      (targets.all || !targets.name_glob.empty() || !targets.cgroup.empty()))
    return usageError("-p and --all (--comm, --cgroup) exclude each other");
  return 0;
}

}  // namespace tidegauge::cli
