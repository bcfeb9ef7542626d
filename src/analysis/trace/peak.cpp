#include "analysis/trace/peak.h"

#include "model/lives/block_layout.h"

namespace tidegauge::analysis {

Holders holdersAt(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step) {
  Holders holders;
  holders.step = step;
  std::vector<uint32_t> rows = device.live.liveAt(step);
  holders.blocks = rows.size();
  holders.groups = groupByStack(analysed.trace, rows);
  for (const StackGroup& group : holders.groups) holders.block_bytes += group.block_bytes;
  return holders;
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
  report.holders = holdersAt(analysed, device, report.active.step);
  return report;
}

}  // namespace tidegauge::analysis
