#include "wss/backends/exact_window.h"

#include <algorithm>
#include <numeric>

namespace tidegauge::wss {
namespace {

// Adds what the stop cost to the cost of what was done in it.
void count(Cost& cost, const Moment& stopped, const Moment& resumed, int64_t cpu_ns) {
  int64_t longest_ns = resumed.last_ns - stopped.first_ns;
  cost.stopped_ns = longest_ns;
  cost.stall_ns = std::max(cost.stall_ns, longest_ns);
  cost.cpu_ns += cpu_ns;
}

}  // namespace

std::string ExactWindow::how() const {
  return inner_->how() + "; the process stands still while its memory is cleared and read";
}

std::optional<Cost> ExactWindow::predicted(const Resident& resident, size_t mappings) const {
  std::optional<Cost> cost = inner_->predicted(resident, mappings);
  if (cost) cost->stopped_ns = cost->cpu_ns;
  return cost;
}

base::Result<Clearing> ExactWindow::clear(const Process& process, Clock& clock) {
  int64_t began_ns = clock.cpu_ns();
  inner_->detail() = detail();
  TG_ASSIGN_OR_RETURN(StoppedProcess stopped, StoppedProcess::stop(process, clock));
  int64_t stopped_cpu_ns = clock.cpu_ns() - began_ns;
  TG_ASSIGN_OR_RETURN(Clearing done, inner_->clear(process, clock));
  began_ns = clock.cpu_ns();
  Run& run = runs_[process.pid()] = {.resumed = stopped.resume()};
  count(done.cost, stopped.stopped(), run.resumed, stopped_cpu_ns + clock.cpu_ns() - began_ns);
  return done;
}

base::Result<Reading> ExactWindow::read(const Process& process, Clock& clock) {
  int64_t began_ns = clock.cpu_ns();
  inner_->detail() = detail();
  TG_ASSIGN_OR_RETURN(StoppedProcess stopped, StoppedProcess::stop(process, clock));
  int64_t stopped_cpu_ns = clock.cpu_ns() - began_ns;
  base::Result<Reading> done = inner_->read(process, clock);
  began_ns = clock.cpu_ns();
  Run& run = runs_[process.pid()];
  size_t threads = stopped.threads();
  Moment end = stopped.stopped(), resumed = stopped.resume();
  // The threads stop, and are resumed, one after the other.
  run.before.least_ns += std::max<int64_t>(0, end.first_ns - run.resumed.last_ns);
  run.before.most_ns += end.last_ns - run.resumed.first_ns;
  run.before.mean_ns = std::midpoint(run.before.least_ns, run.before.most_ns);
  run.resumed = resumed;
  if (!done.ok()) return done;
  done.value().ran = run.before;
  done.value().stopped_threads = threads;
  count(done.value().cost, end, resumed, stopped_cpu_ns + clock.cpu_ns() - began_ns);
  return done;
}

}  // namespace tidegauge::wss
