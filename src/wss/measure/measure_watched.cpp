#include "wss/measure/measure_watched.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tidegauge::wss {

base::Status measureWatched(Watched& watched, Backend& backend, const Plan& plan, Clock& clock,
                            const std::function<bool(std::span<const Outcome>)>& onRows) {
  std::set<pid_t> measured;
  std::map<pid_t, MeanwhileWatch> watches_by_pid;
  Plan one = plan;
  bool takes_in = plan.course == Course::kSnapshots;
  if (takes_in) one.course = Course::kSingle;
  for (int64_t began_ns = clock.now_ns();;) {
    std::vector<const Process*> all;
    std::vector<MeanwhileWatch*> watches;
    for (const Process& process : watched.processes()) {
      all.push_back(&process);
      watches.push_back(&watches_by_pid.try_emplace(process.pid(), process).first->second);
    }
    std::map<pid_t, std::string> gone;
    bool continues = true;
    auto onWindow = [&](std::span<const Outcome> outcomes) {
      for (size_t i = 0; i < outcomes.size(); ++i) {
        if (outcomes[i].gone)
          gone[all[i]->pid()] = outcomes[i].gone->what;
        else
          measured.insert(all[i]->pid());
      }
      continues = onRows(outcomes);
      watched.reportedBegan();
      return continues;
    };
    base::Status status = measureAll(all, backend, one, clock, onWindow, watches);
    for (const auto& [pid, why] : gone) {
      watches_by_pid.erase(pid);
      watched.forget(pid, why, measured.contains(pid));
    }
    bool is_over = plan.total_ns && clock.now_ns() - began_ns + plan.pause_ns >= *plan.total_ns;
    if (!status.ok() || !takes_in || !continues || is_over || clock.isEnding()) return status;
    clock.sleep(plan.pause_ns);
    if (clock.isEnding()) return status;
    TG_RETURN_IF_ERROR(watched.look());
  }
}

}  // namespace tidegauge::wss
