#include "watch/live_working_sets.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "wss/measure/measure.h"

namespace tidegauge::watch {

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
    std::vector<uint32_t> pids;
    {
      std::lock_guard lock(mutex_);
      pids = plan_.pids;
    }
    round(pids, clock);
    // No process is watched yet: look again soon.
    double pause_s = pids.empty() ? 1 : plan_.every_s;
    int64_t rest_ns = std::llround(pause_s * 1e9) - (clock.now_ns() - begin_ns);
    clock.sleep(std::max(rest_ns, int64_t{1'000'000}));
  }
}

void LiveWorkingSets::round(const std::vector<uint32_t>& pids, ThreadClock& clock) {
  std::vector<WorkingSetFigures::Process> processes;
  for (uint32_t pid : pids) {
    if (clock.isEnding()) return;
    if (auto process = measure(pid, clock)) processes.push_back(std::move(*process));
    std::lock_guard lock(mutex_);
    figures_.cpu_seconds = static_cast<double>(clock.cpu_ns()) * 1e-9;
  }
  std::lock_guard lock(mutex_);
  figures_.processes = std::move(processes);
}

std::optional<WorkingSetFigures::Process> LiveWorkingSets::measure(uint32_t pid,
                                                                   ThreadClock& clock) {
  auto process = wss::Process::open(static_cast<pid_t>(pid));
  if (!process.ok()) return std::nullopt;
  wss::Plan plan;
  plan.duration_ns = std::llround(plan_.window_s * 1e9);
  if (!backend_) {
    auto choice = wss::chooseBackend({.window_ns = plan.duration_ns}, process.value());
    if (!choice.ok()) return std::nullopt;
    backend_ = std::move(choice.value().backend);
  }
  auto cost = wss::predictedFor(*backend_, process.value());
  if (cost && static_cast<double>(cost->stall_ns) * 1e-9 > plan_.max_stall_s) {
    std::lock_guard lock(mutex_);
    figures_.skipped += 1;
    return std::nullopt;
  }
  std::optional<WorkingSetFigures::Process> measured;
  auto status = wss::measure(process.value(), *backend_, plan, clock, [&](const wss::Row& row) {
    measured = {.pid = pid,
                .comm = process.value().name(),
                .rss_bytes = row.sums.rss,
                .referenced_bytes = row.sums.referenced,
                .stall_seconds = static_cast<double>(row.cost.stall_ns) * 1e-9};
    return true;
  });
  if (!status.ok() || !measured) return std::nullopt;
  std::lock_guard lock(mutex_);
  figures_.backend = backend_->name();
  return measured;
}

}  // namespace tidegauge::watch
