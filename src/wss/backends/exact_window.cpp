#include "wss/backends/exact_window.h"

#include <algorithm>
#include <numeric>

namespace tidegauge::wss {
namespace {

void count(Cost& cost, const Moment& stopped, const Moment& resumed, int64_t cpu_ns) {
  int64_t longest_ns = resumed.last_ns - stopped.first_ns;
  cost.stopped_ns = longest_ns;
  cost.stall_ns = std::max(cost.stall_ns, longest_ns);
  cost.cpu_ns = cpu_ns;
}

}  // namespace

std::string ExactWindow::how() const {
  return inner_->how() + "; the process stands still while they are cleared and read";
}

std::optional<Cost> ExactWindow::predicted(const Resident& resident, size_t mappings) const {
  std::optional<Cost> cost = inner_->predicted(resident, mappings);
  if (cost) cost->stopped_ns = cost->cpu_ns;
  return cost;
}

base::Result<Clearing> ExactWindow::clear(const Process& process, Clock& clock) {
  int64_t cpu_ns = clock.cpu_ns();
  inner_->detail() = detail();
  TG_ASSIGN_OR_RETURN(StoppedProcess stopped, StoppedProcess::stop(process, clock));
  TG_ASSIGN_OR_RETURN(Clearing done, inner_->clear(process, clock));
  Run& run = runs_[process.pid()] = {.resumed = stopped.resume()};
  count(done.cost, stopped.stopped(), run.resumed, clock.cpu_ns() - cpu_ns);
  return done;
}

base::Result<Reading> ExactWindow::read(const Process& process, Clock& clock) {
  int64_t cpu_ns = clock.cpu_ns();
  inner_->detail() = detail();
  TG_ASSIGN_OR_RETURN(StoppedProcess stopped, StoppedProcess::stop(process, clock));
  TG_ASSIGN_OR_RETURN(Reading done, inner_->read(process, clock));
  Run& run = runs_[process.pid()];
  Moment end = stopped.stopped(), resumed = stopped.resume();
  // The threads stop, and are resumed, one after the other.
  run.before.least_ns += std::max<int64_t>(0, end.first_ns - run.resumed.last_ns);
  run.before.most_ns += end.last_ns - run.resumed.first_ns;
  run.before.mean_ns = std::midpoint(run.before.least_ns, run.before.most_ns);
  run.resumed = resumed;
  done.ran = run.before;
  count(done.cost, end, resumed, clock.cpu_ns() - cpu_ns);
  return done;
}

}  // namespace tidegauge::wss
