// What `--device`, `--from` and `--to` choose, and a part of a recording summed up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/oom/oom.h"
#include "analysis/step_range.h"
#include "analysis/trace/peak.h"
#include "base/result.h"

namespace tidegauge::exporting {

struct Selection {
  std::optional<int32_t> device;
  std::string from;  // see analysis/step_range.h; empty: the recording's own end
  std::string to;
  bool isRange() const { return !from.empty() || !to.empty(); }
};

struct Chosen {
  const analysis::DeviceAnalysis* device = nullptr;
  std::optional<analysis::StepRange> range;  // absent: the whole recording
};

struct Choice {
  std::vector<Chosen> devices;      // in order; with a range: those that have it
  std::vector<base::Error> absent;  // why the others do not: to be said, not dropped
};
// The devices that are meant; an error if none is left.
base::Result<Choice> choose(const analysis::AnalysedTrace& analysed, const Selection& selection);

struct RangeSummary {
  analysis::StepRange range;
  analysis::Totals before;  // the state before its first step
  analysis::Totals after;   // … after its last
  analysis::PeakReport peak;
  std::vector<analysis::OomReport> ooms;
};
// O(steps of the range + live).
RangeSummary summariseRange(const analysis::AnalysedTrace& analysed,
                            const analysis::DeviceAnalysis& device,
                            const analysis::StepRange& range);

}  // namespace tidegauge::exporting
