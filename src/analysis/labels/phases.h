// Annotations as nested ranges of a device's steps, and what happened to memory inside each.
//
//   time   ──[ step#1 ──[ forward ]──[ backward ]── ]──
//   steps     [10, 95)    [12, 50)     [51, 93)          depth 0, 1, 1
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/lives/continuation.h"
#include "model/trace.h"

namespace tidegauge::analysis {

using model::Step;

// Times of a device that never decrease (the latest so far), for the time axis and annotations.
// Empty if the file has no times.
class TimeAxis {
 public:
  TimeAxis(const model::Trace& trace, const model::Device& device);
  // Continues that of the trace before; `device` is the first one.
  TimeAxis(const model::Trace& trace, const model::Device& device, TimeAxis&& before,
           const model::Continuation& continuation);
  bool present() const { return present_; }
  int64_t firstUs() const { return first_us_; }
  int64_t lastUs() const { return last_us_; }
  int64_t timeOf(Step step) const;
  // Number of events at or before the time = first step after it.
  Step stepAfter(int64_t time_us) const;
  // First step at or after the time.
  Step stepAtOrAfter(int64_t time_us) const;

 private:
  void readAll();
  void repairFrom(Step step, int64_t so_far);

  const model::Trace& trace_;
  const model::Device& device_;
  bool present_ = false;
  bool monotone_ = true;
  int64_t first_us_ = 0;
  int64_t last_us_ = 0;
  std::vector<int64_t> repaired_;  // only if the file's times go backwards
};

struct Phase {
  uint32_t annotation = 0;  // row of trace.annotations
  Step begin_step = 0;      // first event inside
  Step end_step = 0;        // first event after it
  uint16_t depth = 0;
};

// All annotations as steps of one device (annotations are process-wide), by begin_step, outer
// first. Ranges without an event of the device have begin_step == end_step.
std::vector<Phase> phasesOf(const model::Trace& trace, const TimeAxis& axis);

// Names of the phases around a step, outermost first.
std::vector<uint32_t> phasesAt(const std::vector<Phase>& phases, Step step);

}  // namespace tidegauge::analysis
