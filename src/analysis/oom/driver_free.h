// The free memory of the driver around a step, according to a recording.
//
//   reported to the program  ●           ●           cuMemGetInfo, of its own device
//   counted by the driver       ●  ●   ●     ●        NVML, of the machine's devices
//   step                                 ▲            uses the newest figure before the next step
//
// NVML numbers devices differently, so its figures count only on machines with one. The size of the
// largest piece is not recorded, and not needed: the driver maps pages of 2 MiB to any addresses.
// Cost: figures sorted once, then O(log figures) per step.
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
  bool is_answer = false;  // reported to the program; else NVML's
  // Bytes that this process reserved since then, up to the step; below 0: it freed more.
  int64_t taken_since_bytes = 0;

  // What must have been free at the step, if no other process allocated or freed.
  uint64_t leftBytes() const;
};

class DriverFigures {
 public:
  DriverFigures(const AnalysedTrace& analysed, const DeviceAnalysis& device);
  // Absent if no figure is recorded; always absent for a snapshot.
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

// For a single step.
std::optional<DriverFree> driverFreeAt(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                       Step step);

}  // namespace tidegauge::analysis
