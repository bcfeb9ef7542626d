#include "wss/process/watched.h"

#include <algorithm>
#include <utility>

namespace tidegauge::wss {

void Watched::leaveOut(pid_t pid, std::string why) {
  left_out_.push_back({pid, std::move(why)});
  onLeftOut_(left_out_.back());
}

base::Status Watched::look() {
  began_.clear();
  TG_ASSIGN_OR_RETURN(std::vector<pid_t> pids, findTargets(targets_));
  std::set<pid_t> there(pids.begin(), pids.end());
  // A number that is free again may be given to somebody else.
  std::erase_if(tried_, [&](pid_t pid) { return !there.contains(pid); });
  for (pid_t pid : pids) {
    if (!tried_.insert(pid).second) continue;
    auto process = Process::open(pid);
    if (process.ok()) {
      pid_t first = process.value().pid();  // which another of its threads was named for
      tried_.insert(first);
      if (std::ranges::find(processes_, first, &Process::pid) != processes_.end()) continue;
      processes_.push_back(std::move(process).value());
      began_.push_back(first);
    } else {
      leaveOut(pid, process.error().what);
    }
  }
  return base::okStatus();
}

std::vector<pid_t> Watched::unseen() const {
  std::vector<pid_t> found;
  auto pids = findTargets(targets_);
  if (!pids.ok()) return found;  // none of them is there any more
  for (pid_t pid : pids.value())
    if (!tried_.contains(pid)) found.push_back(pid);
  return found;
}

void Watched::forget(pid_t pid, const std::string& why, bool was_measured) {
  std::deque<Process> left;
  for (Process& process : processes_)
    if (process.pid() != pid) left.push_back(std::move(process));
  processes_ = std::move(left);
  // Who has its number next, or began another program with it, is somebody new; who could never be
  // measured stays out.
  if (was_measured)
    tried_.erase(pid);
  else
    leaveOut(pid, why);
}

}  // namespace tidegauge::wss
