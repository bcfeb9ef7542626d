#include "cli/watch/live_session.h"

#include <fmt/format.h>

#include <csignal>

#include "base/text_layout.h"
#include "cli/options/output.h"
#include "record/kernel/even_clock.h"
#include "record/process/capabilities.h"
#include "record/process/cgroup.h"

namespace tidegauge::cli {
namespace {

volatile std::sig_atomic_t was_stopped = 0;

void stop(int) { was_stopped = 1; }

}  // namespace

int64_t nowSinceEpoch_ns() { return record::evenClock().now_ns(); }

bool LiveSession::stopped() { return was_stopped != 0; }

base::Result<std::unique_ptr<LiveSession>> LiveSession::start(const LiveTargets& targets,
                                                              const Wishes& wishes) {
  struct sigaction action {};
  action.sa_handler = stop;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
  record::RecorderOptions options;
  options.framework = !targets.no_framework;
  options.name_glob = targets.name_glob;
  options.programs.watch_all = targets.pids.empty();
  options.let_go_unused = true;
  options.programs.take_stacks = wishes.stacks;
  options.programs.take_block_stacks = false;  // only holders of driver memory are shown
  if (!targets.cgroup.empty()) {
    TG_ASSIGN_OR_RETURN(record::Cgroup cgroup, record::findCgroup(targets.cgroup));
    options.programs.cgroup = cgroup.id;
    options.programs.cgroup_level = cgroup.level;
  }
  std::unique_ptr<record::Helper> helper;
  if (!wishes.keeps_privileges) {  // before threads start
    helper = std::make_unique<record::Helper>();
    record::allowLockedMemory();
    TG_RETURN_IF_ERROR(record::keepCapabilities(record::neededToRecord(options.programs.link_each),
                                                record::callingUser()));
  }
  std::unique_ptr<LiveSession> live(new LiveSession(wishes, std::move(helper)));
  TG_ASSIGN_OR_RETURN(live->recorder_, record::Recorder::start(options, live->session_));
  for (uint32_t pid : targets.pids) TG_RETURN_IF_ERROR(live->recorder_->watch(pid));
  if (targets.pids.empty()) TG_RETURN_IF_ERROR(live->recorder_->watchAllRunning());
  live->session_.askDevices();
  return live;
}

base::Status LiveSession::step(int timeout_ms) {
  recorder_->poll(timeout_ms);
  TG_RETURN_IF_ERROR(session_.tick(*recorder_));
  const auto& libraries = session_.libraries();
  for (; said_ < libraries.size(); ++said_)
    for (const std::string& problem : libraries[said_].problems)
      if (!quiet_)
        complain(fmt::format("tidegauge: {}: {}", base::printable(libraries[said_].path),
                             base::printable(problem)));
  return base::okStatus();
}

}  // namespace tidegauge::cli
