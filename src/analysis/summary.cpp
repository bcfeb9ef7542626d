#include "analysis/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/oom/oom_verdict.h"
#include "base/threads/parallel.h"

namespace tidegauge::analysis {
std::vector<PhaseSummary> phaseSummaries(const DeviceAnalysis& device, size_t most) {
  std::vector<Phase> phases = device.phases;
  std::erase_if(phases, [](const Phase& p) { return p.begin_step == p.end_step; });
  std::stable_sort(phases.begin(), phases.end(), [](const Phase& a, const Phase& b) {
    if (a.depth != b.depth) return a.depth < b.depth;
    return a.begin_step < b.begin_step;
  });
  if (phases.size() > most) phases.resize(most);
  std::vector<PhaseSummary> summaries;
  for (const Phase& phase : phases) {
    Span span = device.totals.span(phase.begin_step, phase.end_step);
    uint64_t before = phase.begin_step == 0 ? device.totals.initial().active_bytes
                                            : device.totals.at(phase.begin_step - 1).active_bytes;
    uint64_t after = device.totals.at(phase.end_step - 1).active_bytes;
    summaries.push_back({.annotation = phase.annotation,
                         .begin_step = phase.begin_step,
                         .end_step = phase.end_step,
                         .depth = phase.depth,
                         .peak_active_bytes = std::max(before, span.active_max),
                         .peak_step = before > span.active_max ? int64_t{phase.begin_step} - 1
                                                               : int64_t{span.active_max_step},
                         .grew_bytes = static_cast<int64_t>(after - before)});
  }
  return summaries;
}

DeviceSummary summarise(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                        OomChoice choice) {
  DeviceSummary summary;
  summary.device = &device;
  summary.initial = device.totals.initial();
  summary.final = device.totals.last();
  summary.peak = peakOf(analysed, device);
  summary.only_state = hasOnlyState(analysed.trace, device.device);
  summary.ooms = oomsOf(analysed, device, kMaxOomLayouts);
  for (const OomReport& oom : summary.ooms) {
    summary.ceiling_bytes =
        std::max(summary.ceiling_bytes, oom.ceilingBytes());  // absent counts as the least
  }
  summary.oom_choice = choice;
  if (!summary.ooms.empty()) {
    summary.explained_oom =
        choice == OomChoice::kLast ? summary.ooms.size() - 1 : worstOf(summary.ooms);
    OomReport& explained = summary.ooms[summary.explained_oom];
    if (!explained.free) addDetails(analysed, device, explained);
    summary.at_oom = holdersAt(analysed, device, summary.ooms[summary.explained_oom].step);
    summary.unmapped_bytes = unmappedBytes(analysed, device);
  }
  Step last = device.totals.steps() == 0 ? 0 : device.totals.steps() - 1;
  summary.final_free =
      freeSums(analysed.trace, blocksAt(analysed.trace, device.device, device.live, last));
  summary.at_peak = summary.only_state ? byProvenance(analysed, device, last)
                                       : byProvenance(analysed, device, summary.peak.active);
  summary.phases = phaseSummaries(device, kMaxPhases);
  summary.phases_total =
      static_cast<size_t>(std::count_if(device.phases.begin(), device.phases.end(),
                                        [](const Phase& p) { return p.begin_step != p.end_step; }));
  base::together(
      device.totals.steps() >= kLongSteps,
      [&] { summary.identities = identitiesOf(analysed, device); },
      [&] { summary.growth = findGrowth(analysed, device); });
  for (uint64_t row = device.device.allocation_begin; row < device.device.allocation_end; ++row) {
    summary.allocations_by_provenance[static_cast<size_t>(
        analysed.trace.allocations.provenance[row])]++;
  }
  return summary;
}

std::string deviceLabel(const model::Device& device) {
  if (device.kind == model::DeviceKind::kPinnedHost) return "pinned host memory";
  if (device.known == model::Known::kNothing) return "device not known";
  bool in_part = device.known == model::Known::kInPart;
  return fmt::format("cuda:{}{}", device.ordinal, in_part ? " and device not known" : "");
}

}  // namespace tidegauge::analysis
