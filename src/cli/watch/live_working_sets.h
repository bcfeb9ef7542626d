// Working sets beside a monitor: every --wss-every seconds one window of each process, one after
// the other, on a thread of its own, so that the recorder's rings are drained meanwhile.
//
//   monitor    watch({42, 43}) ──────────── figures() ──► /metrics
//   thread       42 ─ window ─ 43 ─ window ─ …… pause …… 42 ─ window ─
//
// A process that would wait for it longer than --wss-max-stall-ms is passed over, and counted.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cli/watch/live_options.h"
#include "watch/working_set_metrics.h"
#include "wss/measure/choose.h"

namespace tidegauge::cli {

class LiveWorkingSets {
 public:
  // Without --wss it does nothing.
  explicit LiveWorkingSets(const MonitorOptions& options);
  ~LiveWorkingSets();
  LiveWorkingSets(const LiveWorkingSets&) = delete;
  LiveWorkingSets& operator=(const LiveWorkingSets&) = delete;

  // With --wss all-watched: those that are watched now.
  void watch(std::vector<uint32_t> pids);
  watch::WorkingSetFigures figures() const;

 private:
  class ThreadClock;
  void run();
  void round(const std::vector<uint32_t>& pids, ThreadClock& clock);
  // Nothing: it has none now, or is passed over.
  std::optional<watch::WorkingSetFigures::Process> measure(uint32_t pid, ThreadClock& clock);

  double every_s_, most_stall_s_, window_s_;
  bool all_watched_ = false;
  std::unique_ptr<wss::Backend> backend_;  // of the thread; the same for all
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_ending_ = false;
  std::vector<uint32_t> pids_;
  watch::WorkingSetFigures figures_;
  std::thread thread_;
};

// What is wrong with --wss; the exit code.
int checkWorkingSets(const MonitorOptions& options);

}  // namespace tidegauge::cli
