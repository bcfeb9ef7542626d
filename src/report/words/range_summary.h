// The choice of `--device`, `--from` and `--to`, and the sums of a part of a recording.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/oom/oom.h"
#include "analysis/step_range.h"
#include "analysis/summary.h"
#include "analysis/trace/peak.h"
#include "base/result.h"

namespace tidegauge::report {

struct Selection {
  std::optional<int32_t> device;
  std::string from;  // see analysis/step_range.h; empty: the recording's own end
  std::string to;
  bool isRange() const { return !from.empty() || !to.empty(); }
};

struct Chosen {
  const analysis::DeviceAnalysis* device = nullptr;
  std::optional<analysis::StepRange> range;  // absent: the whole recording
  analysis::OomChoice oom = analysis::OomChoice::kWorst;
};

struct Choice {
  std::vector<Chosen> devices;      // in order; with a range: those with events in it
  std::vector<base::Error> absent;  // reasons for the others: to be reported
};
// The selected devices; an error if there are none.
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

}  // namespace tidegauge::report
