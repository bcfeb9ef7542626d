#include "analysis/identities.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/layout/layout.h"
#include "analysis/trace/change_marks.h"
#include "analysis/trace/peak.h"
#include "base/format.h"
#include "model/lives/stated_sums.h"
#include "model/recorded_work.h"

namespace tidegauge::analysis {
namespace {

using base::humanBytes;

uint64_t difference(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

std::string verdict(uint64_t difference_bytes) {
  return difference_bytes == 0 ? "" : fmt::format("; differs by {}", humanBytes(difference_bytes));
}

// The sums that are compared at every step.
struct EveryStep {
  uint64_t drawn_difference_bytes = 0;  // the largest between the totals and the rows
  uint64_t over_bytes = 0;              // active above reserved, at most
  Step over_step = 0;
};

// Whether the drawn rows change active bytes at each step as the totals do.
bool areDrawnAlike(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  const model::Allocations& a = analysed.trace.allocations;
  Step steps = device.totals.steps();
  std::vector<uint64_t> marks(device.totals.activeMarks().size());
  for (uint64_t row = device.device.allocation_begin; row < device.device.allocation_end; ++row) {
    Step first = a.first_step[row], last = a.last_step[row];
    uint64_t bytes = a.block_bytes[row];
    if (first < steps) marks[first / kMarkSteps] += bytes * markWeight(first);
    if (last < steps) marks[last / kMarkSteps] -= bytes * markWeight(last);
  }
  return marks == device.totals.activeMarks();
}

// The largest difference between the totals and the rows, by a walk over all steps.
uint64_t drawnDifferenceBytes(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  const model::Allocations& a = analysed.trace.allocations;
  Step steps = device.totals.steps();
  std::vector<uint64_t> change(steps);  // in live bytes, from the rows; a loss of x is 2^64 − x
  for (uint64_t row = device.device.allocation_begin; row < device.device.allocation_end; ++row) {
    if (a.first_step[row] < steps) change[a.first_step[row]] += a.block_bytes[row];
    if (a.last_step[row] < steps) change[a.last_step[row]] -= a.block_bytes[row];
  }
  uint64_t worst = 0, live = 0;
  device.totals.forEach(0, steps, [&](Step step, const Totals& totals) {
    live += change[step];
    worst = std::max(worst, difference(totals.active_bytes, live));
  });
  return worst;
}

EveryStep checkEveryStep(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  EveryStep worst;
  if (!areDrawnAlike(analysed, device))
    worst.drawn_difference_bytes = drawnDifferenceBytes(analysed, device);
  // Steps need a look only where the extremes of several leave room for more.
  Step steps = device.totals.steps();
  for (Step begin = 0, end = 0; begin < steps; begin = end) {
    end = begin + std::min(kMarkSteps, steps - begin);
    Span span = device.totals.span(begin, end);
    if (span.active_max <= span.reserved_min ||
        span.active_max - span.reserved_min <= worst.over_bytes)
      continue;
    device.totals.forEach(begin, end, [&](Step step, const Totals& totals) {
      if (totals.active_bytes <= totals.reserved_bytes ||
          totals.active_bytes - totals.reserved_bytes <= worst.over_bytes)
        return;
      worst.over_bytes = totals.active_bytes - totals.reserved_bytes;
      worst.over_step = step;
    });
  }
  return worst;
}

// The totals are running sums over events, with their own starts and ends. The other side is the
// sum of the drawn rows.
Identity drawn(const AnalysedTrace& analysed, const DeviceAnalysis& device,
               const EveryStep& every_step) {
  Identity identity{.name = "drawn", .text = {}};
  Step steps = device.totals.steps();
  Step last = steps == 0 ? 0 : steps - 1;
  identity.difference_bytes = std::max(
      every_step.drawn_difference_bytes,
      difference(device.totals.last().active_bytes, byProvenance(analysed, device, last).sum()));
  identity.holds = identity.difference_bytes == 0;
  // Shown at the peak, where it matters most.
  bool only_state = hasOnlyState(analysed.trace, device.device);
  Peak peak = only_state ? Peak{.step = last} : device.totals.peakActive();
  uint64_t peak_bytes =
      steps == 0 ? device.totals.last().active_bytes : device.totals.at(peak).active_bytes;
  if (peak.at_start) {
    uint64_t at_start = byProvenance(analysed, device, peak).sum();
    identity.difference_bytes =
        std::max(identity.difference_bytes, difference(peak_bytes, at_start));
    identity.holds = identity.difference_bytes == 0;
  }
  ByProvenance parts = byProvenance(analysed, device, peak);
  base::ByteUnit unit = base::unitFor(peak_bytes);
  auto text = [&](uint64_t bytes) { return bytes == 0 ? "0" : humanBytes(bytes, unit); };
  identity.text = fmt::format(
      "Active {}{} = allocated in the recording {} + allocated before "
      "it {} + lost {}{}",
      text(peak_bytes), only_state ? "" : " at the peak", text(parts.traced_bytes),
      text(parts.older_bytes), text(parts.lost_bytes), verdict(identity.difference_bytes));
  return identity;
}

Identity live(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  Identity identity{.name = "live", .text = {}};
  uint64_t final_bytes = model::finalActiveBytes(analysed.trace, device.device);
  uint64_t by_trace = device.totals.last().active_bytes;
  identity.difference_bytes = difference(by_trace, final_bytes);
  identity.holds = identity.difference_bytes == 0;
  identity.text = fmt::format("Active at the end: from the events {} = in the final state {}{}",
                              humanBytes(by_trace), humanBytes(final_bytes),
                              verdict(identity.difference_bytes));
  return identity;
}

// Bytes of the layout after a step, summed part by part: independent of the running totals.
struct LaidOut {
  uint64_t live = 0;  // inside known segments
  uint64_t free = 0;
  uint64_t outside = 0;
};
LaidOut laidOut(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step) {
  LaidOut sum;
  for (const LayoutBlock& block : blocksAt(analysed.trace, device.device, device.live, step)) {
    uint64_t& part = !block.segment.valid()                        ? sum.outside
                     : block.state == model::BlockState::kInactive ? sum.free
                                                                   : sum.live;
    part += block.size_bytes;
  }
  return sum;
}

Identity reserved(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                  const EveryStep& every_step) {
  Identity identity{.name = "reserved", .text = {}};
  const model::FinalSegments& segments = analysed.trace.final_segments;
  uint64_t final_bytes = 0;
  for (uint64_t s = device.device.final_segment_begin; s < device.device.final_segment_end; ++s) {
    final_bytes += segments.total_bytes[s];
  }
  Totals last = device.totals.last();
  identity.difference_bytes = difference(last.reserved_bytes, final_bytes);
  // With memory older than the recording, reserved bytes are a lower bound, so this is no
  // contradiction.
  uint64_t over =
      model::isAtLeast(analysed.trace, device.device.ordinal) ? 0 : every_step.over_bytes;
  Step end = device.totals.steps() == 0 ? 0 : device.totals.steps() - 1;
  // The layout before the first event is not known; for a peak there, the next one is compared.
  for (Step step : {device.totals.peakActive().step, device.totals.peakReserved().step, end}) {
    LaidOut laid_out = laidOut(analysed, device, step);
    identity.difference_bytes =
        std::max(identity.difference_bytes,
                 difference(device.totals.at(step).reserved_bytes, laid_out.live + laid_out.free));
  }
  identity.holds = identity.difference_bytes == 0 && over == 0;
  base::ByteUnit unit = base::unitFor(last.reserved_bytes);
  LaidOut at_end = laidOut(analysed, device, end);
  identity.text =
      fmt::format("Reserved {}{} at the end = active {} + free {}{}",
                  model::isAtLeast(analysed.trace, device.device.ordinal) ? "at least " : "",
                  humanBytes(last.reserved_bytes, unit), humanBytes(at_end.live, unit),
                  humanBytes(at_end.free, unit), verdict(identity.difference_bytes));
  if (last.reserved_bytes != final_bytes) {
    identity.text += fmt::format("; the final segments hold {}", humanBytes(final_bytes, unit));
  }
  if (at_end.outside > 0) {
    identity.text += fmt::format("; {} of active memory are outside every known segment",
                                 humanBytes(at_end.outside));
  }
  if (over > 0) {
    identity.text += fmt::format("; at step {} active memory exceeds reserved memory by {}",
                                 base::withCommas(every_step.over_step), humanBytes(over));
    identity.difference_bytes = std::max(identity.difference_bytes, over);
  }
  return identity;
}

// A segment against the sum of its blocks.
Identity segmentsAddUp(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  Identity identity{.name = "segments", .text = {}};
  uint64_t wrong = 0;
  for (uint64_t s = device.device.final_segment_begin; s < device.device.final_segment_end; ++s) {
    uint64_t bytes = model::segmentDifferenceBytes(analysed.trace, s);
    identity.difference_bytes += bytes;
    wrong += bytes != 0;
  }
  identity.holds = wrong == 0;
  uint64_t count = device.device.final_segment_end - device.device.final_segment_begin;
  if (identity.holds) {
    identity.text = count == 1 ? "1 segment equals the sum of its blocks"
                               : fmt::format("{} segments equal the sums of their blocks",
                                             base::withCommas(count));
  } else {
    identity.text = fmt::format("{} of {} differ from the sums of their blocks, by {} in total",
                                base::withCommas(wrong), base::counted(count, "segment"),
                                humanBytes(identity.difference_bytes));
  }
  return identity;
}

// The active bytes stated by earlier snapshots, taken while the recording ran.
Identity checksums(const std::vector<model::Checksum>& sums) {
  Identity identity{.name = "checksums", .text = {}};
  uint64_t agree = 0;
  for (const model::Checksum& sum : sums) {
    identity.difference_bytes = std::max(identity.difference_bytes, sum.differenceBytes());
    agree += sum.differenceBytes() == 0;
  }
  identity.holds = agree == sums.size();
  identity.text =
      fmt::format("Active bytes agree with {} of {}{}", base::withCommas(agree),
                  base::counted(sums.size(), "snapshot event"), verdict(identity.difference_bytes));
  return identity;
}

}  // namespace

ByProvenance byProvenance(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step) {
  return byProvenance(analysed, device, Peak{.step = step});
}

ByProvenance byProvenance(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                          const Peak& peak) {
  ByProvenance bytes;
  const model::Allocations& a = analysed.trace.allocations;
  for (uint32_t row : liveAt(device, peak)) {
    switch (a.provenance[row]) {
      case model::Provenance::kTraced:
        bytes.traced_bytes += a.block_bytes[row];
        break;
      case model::Provenance::kLost:
        bytes.lost_bytes += a.block_bytes[row];
        break;
      default:
        bytes.older_bytes += a.block_bytes[row];
        break;
    }
  }
  return bytes;
}

std::vector<Identity> identitiesOf(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  return device.identities.get([&] {
    EveryStep every_step = checkEveryStep(analysed, device);
    std::vector<Identity> identities{drawn(analysed, device, every_step), live(analysed, device),
                                     reserved(analysed, device, every_step),
                                     segmentsAddUp(analysed, device)};
    std::vector<model::Checksum> sums = model::snapshotChecksums(analysed.trace, device.device);
    if (!sums.empty()) identities.push_back(checksums(sums));
    return identities;
  });
}

}  // namespace tidegauge::analysis
