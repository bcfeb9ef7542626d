// Which of several processes are measured, and which cannot be.
//
//   look()   opens whoever is there and was not tried before     4711 4712    left out: 4713, ended
//   look()   before the next window: who began meanwhile         4711 4712 4720
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "wss/process/process.h"
#include "wss/process/targets.h"

namespace tidegauge::wss {

struct LeftOut {
  pid_t pid = 0;
  std::string why;
};

class Watched {
 public:
  // `onLeftOut` is called for each process that cannot be measured, at once.
  Watched(Targets targets, std::function<void(const LeftOut&)> onLeftOut)
      : targets_(std::move(targets)), onLeftOut_(std::move(onLeftOut)) {}

  // Those that are new are in began(), those that cannot be opened in leftOut(). An error if there
  // is no process at all.
  base::Status look();
  // It cannot be measured any more. `was_measured`: in a window before; else it counts as left out.
  void forget(pid_t pid, const std::string& why, bool was_measured);

  // began() was reported: it is empty until the next look().
  void reportedBegan() { began_.clear(); }
  // Those meant that began since the last look, and are in no window; nothing changes.
  std::vector<pid_t> unseen() const;

  const std::deque<Process>& processes() const { return processes_; }
  const std::vector<pid_t>& began() const { return began_; }
  const std::vector<LeftOut>& leftOut() const { return left_out_; }

 private:
  void leaveOut(pid_t pid, std::string why);

  Targets targets_;
  std::function<void(const LeftOut&)> onLeftOut_;
  std::deque<Process> processes_;
  std::set<pid_t> tried_;
  std::vector<pid_t> began_;
  std::vector<LeftOut> left_out_;
};

}  // namespace tidegauge::wss
