// Working sets beside a monitor: every minute, say, one window of each process, one after the
// other, on a thread of its own, so that the recorder's rings are drained meanwhile.
//
//   monitor    watch({42, 43}) ──────────── figures() ──► /metrics
//   thread       42 ─ window ─ 43 ─ window ─ …… pause …… 42 ─ window ─
//
// A process that would stall longer than `max_stall_s` is sampled: the finest of the samples that
// stalls it for less. If none does, or another tidegauge measures it, it is skipped, and counted.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "watch/working_set_metrics.h"
#include "wss/choice/choose.h"
#include "wss/process/targets.h"

namespace tidegauge::watch {

struct WorkingSetPlan {
  bool all_watched = false;    // watch() says which
  std::vector<uint32_t> pids;  // else these; each once
  wss::Targets rule{};         // else whoever this finds, by name or cgroup, in each round
  double window_s = 0.1, every_s = 60, max_stall_s = 0.005;
};

class LiveWorkingSets {
 public:
  // Without a plan it does nothing.
  explicit LiveWorkingSets(const std::optional<WorkingSetPlan>& plan);
  ~LiveWorkingSets();
  LiveWorkingSets(const LiveWorkingSets&) = delete;
  LiveWorkingSets& operator=(const LiveWorkingSets&) = delete;

  // The processes that are watched now; ignored where the plan names some.
  void watch(std::vector<uint32_t> pids);
  WorkingSetFigures figures() const;

 private:
  class ThreadClock;
  void run();
  std::vector<uint32_t> meant() const;
  void round(const std::vector<uint32_t>& pids, ThreadClock& clock);
  // The one that measures it; nullptr: none may, or none can.
  wss::Backend* backendFor(const wss::Process& process, int64_t window_ns);
  // None: the process is gone, cannot be measured or is skipped.
  std::optional<WorkingSetFigures::Process> measure(uint32_t pid, ThreadClock& clock);

  WorkingSetPlan plan_;
  // Of the thread; the same for all. By the part that is sampled, "exact": all pages.
  std::map<std::string_view, std::unique_ptr<wss::Backend>> backends_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_ending_ = false;
  WorkingSetFigures figures_;
  std::thread thread_;
};

}  // namespace tidegauge::watch
