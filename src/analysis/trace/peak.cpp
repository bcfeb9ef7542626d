#include "analysis/trace/peak.h"

#include <algorithm>

#include "model/lives/block_layout.h"

namespace tidegauge::analysis {

Holders holdersAt(const AnalysedTrace& analysed, const DeviceAnalysis& device, const Peak& peak) {
  Holders holders;
  holders.step = peak.step;
  holders.at_start = peak.at_start;
  std::vector<uint32_t> rows = liveAt(device, peak);
  holders.blocks = rows.size();
  holders.groups = groupByStack(analysed.trace, rows);
  for (const StackGroup& group : holders.groups) holders.block_bytes += group.block_bytes;
  return holders;
}

Holders holdersAt(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step) {
  return holdersAt(analysed, device, Peak{.step = step});
}

std::vector<uint32_t> liveAt(const DeviceAnalysis& device, const Peak& peak) {
  return peak.at_start ? device.live.liveAtStart() : device.live.liveAt(peak.step);
}

bool hasOnlyState(const model::Trace& trace, const model::Device& device) {
  if (device.steps() == 0) return true;
  if (trace.work || device.final_segment_begin == device.final_segment_end) return false;
  return std::all_of(trace.devices.begin(), trace.devices.end(),
                     [](const model::Device& each) { return each.steps() <= 1; });
}

PeakReport peakOf(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  PeakReport report;
  report.requested = device.totals.peakRequested();
  report.active = device.totals.peakActive();
  report.allocated = device.totals.peakAllocated();
  report.reserved = device.totals.peakReserved();
  for (uint64_t row = device.device.allocation_begin; row < device.device.allocation_end; ++row) {
    report.uncertain_bytes += model::blockSlackBytes(analysed.trace, row);
  }
  report.holders = hasOnlyState(analysed.trace, device.device)
                       ? holdersAt(analysed, device, std::max(device.device.steps(), Step{1}) - 1)
                       : holdersAt(analysed, device, report.active);
  return report;
}

PeakReport peaksOver(const TotalsIndex& totals, Step first, Step last) {
  PeakReport report;
  auto raise = [&](const Totals& t, Step step, bool at_start) {
    auto one = [&](Peak& peak, uint64_t bytes) {
      if (bytes > peak.bytes) peak = {bytes, step, at_start};
    };
    one(report.requested, t.requested_bytes);
    one(report.active, t.active_bytes);
    one(report.allocated, t.allocated_bytes);
    one(report.reserved, t.reserved_bytes);
  };
  for (Peak* peak : {&report.requested, &report.active, &report.allocated, &report.reserved}) {
    peak->step = first;
  }
  totals.forEach(first, last + 1, [&](Step step, const Totals& t) { raise(t, step, false); });
  if (first == 0) raise(totals.initial(), 0, true);
  return report;
}

}  // namespace tidegauge::analysis
