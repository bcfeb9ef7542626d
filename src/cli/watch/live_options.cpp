#include "cli/watch/live_options.h"

#include "cli/options/usage.h"

namespace tidegauge::cli {

void addTargetOptions(CLI::App& command, LiveTargets& targets) {
  command
      .add_option("-p,--pid", targets.pids,
                  "Watch these running processes and the children that they start from now on")
      ->check(wholeNumber(1, kMaxPid))
      ->type_name("PID");
  command.add_flag("--all", targets.all, "Watch every process of this machine (the default)");
  command
      .add_option("--comm", targets.name_glob, "Watch the processes with this name, e.g. 'python*'")
      ->type_name("GLOB");
  command
      .add_option("--cgroup", targets.cgroup,
                  "Watch the processes of this cgroup (v2), e.g. of a container")
      ->type_name("FOLDER");
  command.add_flag("--no-framework", targets.no_framework, "Do not watch PyTorch's own blocks");
}

int checkTargets(const LiveTargets& targets) {
  if (!targets.pids.empty() &&
      (targets.all || !targets.name_glob.empty() || !targets.cgroup.empty()))
    return usageError("-p and --all (--comm, --cgroup) exclude each other");
  return 0;
}

}  // namespace tidegauge::cli
