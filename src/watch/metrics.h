// Metrics: a session in numbers for Prometheus and OTLP, per process, device and kernel.
//
//   tidegauge_device_memory_bytes{pid="42",comm="python",device="0",kind="device"}  23068672
//
// One maker for the life of a recorder: counters never go back, though which kernels are named may
// change (the 50 most launched of each process; launches of all others count as "other", and a
// kernel that comes up begins with what it is launched from then on). Processes that ended stay for
// five minutes. Of several programs that ran under one pid and name the newest is told: the same
// labels twice would be no valid answer. Cost: O(processes · (kinds + kernels)), some µs each.
// Source: docs/record/monitoring.md has every name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/session/session.h"
#include "watch/working_set_metrics.h"

namespace tidegauge::watch {

using Labels = std::vector<std::pair<std::string, std::string>>;

struct Sample {
  Labels labels;
  double value = 0;
};

enum class MetricType : uint8_t { kGauge, kCounter };

struct Metric {
  std::string name;
  std::string help;
  MetricType type = MetricType::kGauge;
  std::string unit;      // of UCUM, as OTLP wants it: "By", "s", "By/s", "1"
  bool is_whole = true;  // whole numbers only
  std::vector<Sample> samples;
};

// How the framework's memory on one device is broken up, from whoever computes it.
struct ArenaFigures {
  int32_t device = model::kUnknownDevice;
  bool has_allocator = true;  // false: only growth is told, of memory that nobody divides further
  double reserved_score = 0;  // 0 … 100
  double address_score = 0;
  uint64_t reserved_unused_bytes = 0;
  uint64_t stranded_bytes = 0;
  std::vector<std::pair<std::string, double>> forecast;  // horizon in words ("10s") → score
  std::optional<double> growth_bytes_per_second;         // of what stays; none: too short a time
};

struct MetricInputs {
  const record::Session* session = nullptr;
  record::Losses losses{};
  int64_t now_ns = 0;  // since the epoch
  double recorder_cpu_seconds = 0;
  std::map<uint32_t, std::vector<ArenaFigures>> arenas{};  // by process
  WorkingSetFigures working_sets{};
};

class MetricsMaker {
 public:
  std::vector<Metric> make(const MetricInputs& inputs);

 private:
  struct KernelCounts {
    std::map<std::string, uint64_t> total;  // as last seen
    std::map<std::string, uint64_t> told;   // of those that were named at some time
    uint64_t other = 0;
  };
  using Launches = std::vector<std::pair<std::string, uint64_t>>;
  Launches launchesOf(uint32_t process, const record::SessionProcess& seen);

  std::map<uint32_t, KernelCounts> kernels_;  // by process
};

// It has called CUDA: a recorder of the whole machine also hears of processes that never do.
bool hasCalled(const record::Session& session, const record::SessionProcess& process);
// The processes whose series are told now, by index: see above.
std::vector<uint32_t> toldProcesses(const record::Session& session, int64_t now_ns);
// CPU time of this process so far.
double cpuSecondsOfRecorder();

}  // namespace tidegauge::watch
