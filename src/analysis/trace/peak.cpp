#include "analysis/trace/peak.h"

#include <algorithm>

#include "model/lives/block_layout.h"
#include "model/recorded_work.h"

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

std::optional<PeakBounds> activeBounds(const AnalysedTrace& analysed,
                                       const DeviceAnalysis& device) {
  const model::Trace& trace = analysed.trace;
  const model::Allocations& a = trace.allocations;
  model::Bounds bounds = model::boundsOf(device.device);
  Step steps = device.totals.steps();
  if (bounds.active == model::Bound::kExact || steps == 0) return std::nullopt;
  // Changes by step; a loss of x is 2^64 − x.
  std::vector<uint64_t> certain(uint64_t{steps} + 1), slack(uint64_t{steps} + 1);
  // Blocks that were freed, at the latest, between the last event and the final state.
  uint64_t freed_at_end = 0;
  PeakBounds peak;
  peak.initial_at_most_bytes = device.totals.initial().active_bytes;
  for (uint64_t row = device.device.allocation_begin; row < device.device.allocation_end; ++row) {
    model::CertainLife life = model::certainLife(trace, device.device, row);
    if (life.first < life.last) {
      certain[life.first] += a.block_bytes[row];
      certain[std::min(life.last, steps)] -= a.block_bytes[row];
    }
    // The start counts, too.
    if (life.first == 0 && liveBefore(trace, static_cast<uint32_t>(row)))
      peak.at_least_bytes += a.block_bytes[row];
    uint64_t more = model::blockSlackBytes(trace, row);
    bool is_freed = a.has(row, model::kFreeCompletedSeen) || a.free_requested_step[row] < steps;
    if (!is_freed && a.last_step[row] == steps - 1) freed_at_end += a.block_bytes[row] + more;
    if (more == 0 || a.first_step[row] >= a.last_step[row]) continue;
    if (a.first_step[row] == 0) peak.initial_at_most_bytes += more;
    slack[a.first_step[row]] += more;
    slack[std::min(a.last_step[row], steps)] -= more;
  }
  peak.blocks_unseen = model::blocksAreUnseen(trace, device.device);
  if (peak.blocks_unseen) peak.initial_at_most_bytes = device.totals.initial().reserved_bytes;
  // Blocks are inside segments.
  bool in_reserved = bounds.reserved != model::Bound::kAtLeast;
  peak.at_most_bytes = peak.initial_at_most_bytes;
  uint64_t live = 0, more = 0;
  device.totals.forEach(0, steps, [&](Step step, const Totals& totals) {
    live += certain[step];
    more += slack[step];
    peak.at_least_bytes = std::max(peak.at_least_bytes, live);
    uint64_t at_end = step == steps - 1 ? freed_at_end : 0;
    uint64_t most = peak.blocks_unseen ? UINT64_MAX : totals.active_bytes + more + at_end;
    if (in_reserved) most = std::min(most, std::max(totals.reserved_bytes, totals.active_bytes));
    peak.at_most_bytes = std::max(peak.at_most_bytes, most);
  });
  return peak;
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
  model::PeakSlack slack = model::peakSlackOf(analysed.trace, device.device.ordinal);
  report.uncertain_bytes += slack.active_bytes;
  report.is_order_uncertain = slack.active_bytes > 0;
  report.reserved_uncertain_bytes = slack.reserved_bytes;
  report.holders = hasOnlyState(analysed.trace, device.device)
                       ? holdersAt(analysed, device, std::max(device.device.steps(), Step{1}) - 1)
                       : holdersAt(analysed, device, report.active);
  report.bounds = model::boundsOf(device.device);
  report.active_bounds = activeBounds(analysed, device);
  Step steps = device.totals.steps();
  report.is_at_least = steps > 0 && isPeakAtLeast(analysed, device, 0, steps - 1);
  return report;
}

bool isPeakAtLeast(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step first,
                   Step last) {
  const model::Bounds bounds = model::boundsOf(device.device);
  if (bounds.active != model::Bound::kExact) return bounds.active == model::Bound::kAtLeast;
  if (bounds.reserved == model::Bound::kAtLeast) return true;
  if (std::ranges::any_of(device.device.gaps,
                          [&](Step gap) { return first <= gap && gap <= last; }))
    return true;
  const model::Allocations& a = analysed.trace.allocations;
  for (uint64_t row = device.device.allocation_begin; row < device.device.allocation_end; ++row) {
    if (a.first_step[row] <= last && a.last_step[row] > first &&
        model::blockSlackBytes(analysed.trace, row) > 0)
      return true;
  }
  return false;
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
  if (first == 0)
    raise(totals.initial(), 0, true);
  else
    raise(totals.at(first - 1), first - 1, false);
  return report;
}

}  // namespace tidegauge::analysis
