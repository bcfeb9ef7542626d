// How much the driver had free around a step, as a recording tells it.
//
//   the program was told   ●              ●             cuMemGetInfo, of its own device
//   the driver counted        ●  ●    ●      ●          NVML, of the machine's devices
//   step                                ▲               the newest of both before the step after it
//
// NVML numbers devices its own way, so it is heard only where there is one. Nothing tells how much
// the driver could hand out in one piece, and nothing needs to: it maps pages of 2 MiB to any
// addresses. Cost: figures sorted once, then O(log figures) a step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "model/recorded_work.h"

namespace tidegauge::analysis {

inline constexpr uint64_t kDriverPageBytes = uint64_t{2} << 20;

struct DriverFree {
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  int64_t time_us = 0;
  bool is_answer = false;  // that the program got; else NVML's
  // That this process reserved since, up to the step; below 0: gave back.
  int64_t taken_since_bytes = 0;

  // What must have been left at the step, if nobody else took or gave back.
  uint64_t leftBytes() const;
};

class DriverFigures {
 public:
  DriverFigures(const AnalysedTrace& analysed, const DeviceAnalysis& device);
  // Absent if nothing tells; always of a snapshot.
  std::optional<DriverFree> at(Step step) const;

 private:
  struct Figure {
    int64_t time_ns = 0;
    DriverFree said;
  };
  void takeAnswers(const model::DriversAnswers& answers);
  void takeNvml(const model::RecordedRun& run);
  void take(int64_t time_ns, uint64_t free_bytes, uint64_t total_bytes, bool is_answer);

  const DeviceAnalysis& device_;
  std::vector<Figure> by_time_;
};

// Of one step alone.
std::optional<DriverFree> driverFreeAt(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                       Step step);

}  // namespace tidegauge::analysis
