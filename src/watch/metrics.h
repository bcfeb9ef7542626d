// Metrics: a session as numbers for Prometheus and OTLP, per process, device and kernel.
//
//   tidegauge_device_memory_bytes{pid="42",comm="python",device="0",kind="device"}  23068672
//
// One maker for the life of a recorder. Counters never decrease, though the named kernels may
// change (the 50 most launched of each process; all others count as "other", and a newly named
// kernel starts from then on). Ended processes stay for five minutes. Of several programs under one
// pid and name, only the newest is reported: duplicate labels would be invalid. Cost: O(processes ·
// (kinds + kernels)), some µs each. Source: docs/record/monitoring.md lists every name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/forecast/forecast.h"
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
  std::string unit;      // in UCUM, as OTLP requires: "By", "s", "By/s", "1"
  bool is_whole = true;  // whole numbers only
  std::vector<Sample> samples;
};

// What the published model derives from its predictions (analysis/forecast/forecast.h).
struct PublishedForecast {
  analysis::Risk risk = analysis::Risk::kMinimal;
  analysis::Warnings warnings;
  double confidence = 0;
  double slope = 0;             // points per look
  std::optional<double> skill;  // against "as now"; absent if nothing changed so far
};

// The fragmentation of the framework's memory on one device, computed by the caller.
struct ArenaFigures {
  int32_t device = model::kUnknownDevice;
  bool has_allocator = true;  // false: only growth is reported, for memory without an allocator
  double reserved_score = 0;  // 0 … 100
  double address_score = 0;
  uint64_t reserved_unused_bytes = 0;
  uint64_t stranded_bytes = 0;
  std::vector<std::pair<std::string, double>> forecast;  // horizon in words ("10s") → score
  std::optional<PublishedForecast> published;            // absent: too few looks so far
  std::optional<double> growth_bytes_per_second;         // of the floor; absent: too short a time
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
    std::map<std::string, uint64_t> total;     // at the last reading
    std::map<std::string, uint64_t> reported;  // launches since the kernel was named
    uint64_t other = 0;
  };
  using Launches = std::vector<std::pair<std::string, uint64_t>>;
  Launches launchesOf(uint32_t process, const record::SessionProcess& seen);

  std::map<uint32_t, KernelCounts> kernels_;  // by process
};

// It has called CUDA: a recorder of the whole machine also sees processes that never do.
bool hasCalled(const record::Session& session, const record::SessionProcess& process);
// The processes whose series are reported now, by index: see above.
std::vector<uint32_t> toldProcesses(const record::Session& session, int64_t now_ns);
// CPU time of this process so far.
double cpuSecondsOfRecorder();

}  // namespace tidegauge::watch
