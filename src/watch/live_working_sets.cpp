#include "watch/live_working_sets.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "wss/measure/measure.h"

namespace tidegauge::watch {

namespace {

ContainerLabels containerOf(const wss::Process& process) {
  auto text = process.readFile("cgroup");  // "0::/kubepods/…", a line per hierarchy
  return text.ok() ? containerLabelsOf(text.value()) : ContainerLabels();
}

}  // namespace

// CPU time is that of the thread alone, without the recorder's.
class LiveWorkingSets::ThreadClock final : public wss::Clock {
 public:
  explicit ThreadClock(LiveWorkingSets& of) : of_(of) {}
  int64_t now_ns() override { return wss::clockTime_ns(CLOCK_MONOTONIC); }
  int64_t cpu_ns() override { return wss::clockTime_ns(CLOCK_THREAD_CPUTIME_ID); }
  void sleep(int64_t ns) override {
    std::unique_lock lock(of_.mutex_);
    of_.changed_.wait_for(lock, std::chrono::nanoseconds(ns), [&] { return of_.is_ending_; });
  }
  bool isEnding() const override {
    std::lock_guard lock(of_.mutex_);
    return of_.is_ending_;
  }

 private:
  LiveWorkingSets& of_;
};

LiveWorkingSets::LiveWorkingSets(const std::optional<WorkingSetPlan>& plan)
    : plan_(plan.value_or(WorkingSetPlan{})) {
  figures_.window = fmt::format("{:g}", plan_.window_s);
  if (plan) thread_ = std::thread([this] { run(); });
}

LiveWorkingSets::~LiveWorkingSets() {
  {
    std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LiveWorkingSets::watch(std::vector<uint32_t> pids) {
  if (!plan_.all_watched) return;
  std::lock_guard lock(mutex_);
  plan_.pids = std::move(pids);
}

WorkingSetFigures LiveWorkingSets::figures() const {
  std::lock_guard lock(mutex_);
  return figures_;
}

void LiveWorkingSets::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the main thread
  ThreadClock clock(*this);
  while (!clock.isEnding()) {
    int64_t begin_ns = clock.now_ns();
    std::vector<uint32_t> pids = meant();
    round(pids, clock);
    // No process is watched yet: look again soon.
    double pause_s = pids.empty() ? 1 : plan_.every_s;
    int64_t rest_ns = std::llround(pause_s * 1e9) - (clock.now_ns() - begin_ns);
    clock.sleep(std::max(rest_ns, int64_t{1'000'000}));
  }
}

std::vector<uint32_t> LiveWorkingSets::meant() const {
  if (plan_.rule.isByRule()) {
    auto found = wss::findTargets(plan_.rule);
    if (!found.ok()) return {};  // there is none now
    return {found.value().begin(), found.value().end()};
  }
  std::lock_guard lock(mutex_);
  return plan_.pids;
}

void LiveWorkingSets::round(const std::vector<uint32_t>& pids, ThreadClock& clock) {
  std::vector<WorkingSetFigures::Process> processes;
  for (uint32_t pid : pids) {
    if (clock.isEnding()) return;
    auto process = measure(pid, clock);
    if (process) processes.push_back(*process);
    std::lock_guard lock(mutex_);
    // Shown at once: a round over many processes takes long.
    auto isThis = [&](const WorkingSetFigures::Process& one) { return one.pid == pid; };
    std::erase_if(figures_.processes, isThis);
    if (process) figures_.processes.push_back(std::move(*process));
    figures_.cpu_seconds = static_cast<double>(clock.cpu_ns()) * 1e-9;
  }
  std::lock_guard lock(mutex_);
  figures_.processes = std::move(processes);
}

wss::Backend* LiveWorkingSets::backendFor(const wss::Process& process, int64_t window_ns) {
  bool can_measure = false;
  for (std::string_view part : {"exact", "1/32", "1/128", "1/512"}) {
    bool is_new = !backends_.contains(part);
    auto& backend = backends_[part];
    if (is_new) {
      auto choice =
          wss::chooseBackend({.sample = std::string(part), .window_ns = window_ns}, process);
      if (choice.ok()) backend = std::move(choice.value().backend);  // else samples do not work
    }
    if (!backend) continue;
    can_measure = true;
    auto cost = wss::predictedFor(*backend, process);
    if (!cost || static_cast<double>(cost->stall_ns) * 1e-9 <= plan_.max_stall_s)
      return backend.get();
  }
  if (!can_measure) return nullptr;
  std::lock_guard lock(mutex_);
  figures_.skipped += 1;
  return nullptr;
}

std::optional<WorkingSetFigures::Process> LiveWorkingSets::measure(uint32_t pid,
                                                                   ThreadClock& clock) {
  auto process = wss::Process::open(static_cast<pid_t>(pid));
  if (!process.ok()) return std::nullopt;
  if (!process.value().claim().ok()) {
    std::lock_guard lock(mutex_);
    figures_.skipped += 1;
    return std::nullopt;
  }
  wss::Plan plan;
  plan.duration_ns = std::llround(plan_.window_s * 1e9);
  wss::Backend* backend = backendFor(process.value(), plan.duration_ns);
  if (backend == nullptr) return std::nullopt;
  std::optional<WorkingSetFigures::Process> measured;
  wss::MeanwhileWatch watch(process.value());
  auto onRow = [&](const wss::Row& row) {
    measured = {.pid = pid,
                .comm = process.value().name(),
                .rss_bytes = row.once ? row.once->rss : row.sums.rss,
                .referenced_bytes = row.once ? row.once->referenced : row.sums.referenced,
                .reclaimed_bytes = row.gone_bytes,
                .stall_seconds = static_cast<double>(row.cost.stall_ns) * 1e-9,
                .error_bytes = row.error_bytes.value_or(0),
                .is_at_least = wss::isAtLeast(row),
                .container = containerOf(process.value())};
    return true;
  };
  auto status = wss::measure(process.value(), *backend, plan, clock, onRow, &watch);
  if (!status.ok() || !measured) return std::nullopt;
  std::lock_guard lock(mutex_);
  figures_.backend = backend->name();
  return measured;
}

}  // namespace tidegauge::watch
