#include "analysis/identities.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"

namespace tidegauge::analysis {
namespace {

using base::humanBytes;

uint64_t difference(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

std::string verdict(uint64_t difference_bytes) {
  return difference_bytes == 0 ? "" : fmt::format("; differs by {}", humanBytes(difference_bytes));
}

// The totals are running sums over events; the sum by provenance is taken from the rows that are
// live. Both are compared at the peak, the start, the end, and at 64 steps between.
Identity drawn(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  Identity identity{.name = "drawn", .text = {}};
  Step steps = device.totals.steps();
  std::vector<Step> probes{device.totals.peakActive().step};
  for (uint64_t i = 0; i <= 64 && steps > 0; ++i) {
    probes.push_back(static_cast<Step>(i * (steps - 1) / 64));
  }
  for (Step step : probes) {
    uint64_t live = device.totals.at(step).active_bytes;
    uint64_t sum = byProvenance(analysed, device, step).sum();
    identity.difference_bytes = std::max(identity.difference_bytes, difference(live, sum));
  }
  identity.holds = identity.difference_bytes == 0;
  Step last = steps == 0 ? 0 : steps - 1;
  ByProvenance end = byProvenance(analysed, device, last);
  base::ByteUnit unit = base::unitFor(device.totals.last().active_bytes);
  auto text = [&](uint64_t bytes) { return bytes == 0 ? "0" : humanBytes(bytes, unit); };
  identity.text =
      fmt::format("Drawn {} = traced {} + before recording {} + lost {}{}",
                  text(device.totals.last().active_bytes), text(end.traced_bytes),
                  text(end.older_bytes), text(end.lost_bytes), verdict(identity.difference_bytes));
  return identity;
}

Identity live(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  Identity identity{.name = "live", .text = {}};
  const model::FinalSegments& segments = analysed.trace.final_segments;
  const model::FinalBlocks& blocks = analysed.trace.final_blocks;
  uint64_t final_bytes = 0;
  for (uint64_t s = device.device.final_segment_begin; s < device.device.final_segment_end; ++s) {
    for (uint64_t b = segments.block_begin[s]; b < segments.block_end[s]; ++b) {
      bool active = blocks.state[b] == model::BlockState::kActiveAllocated ||
                    blocks.state[b] == model::BlockState::kActivePendingFree;
      if (active) final_bytes += blocks.size_bytes[b];
    }
  }
  uint64_t by_trace = device.totals.last().active_bytes;
  identity.difference_bytes = difference(by_trace, final_bytes);
  identity.holds = identity.difference_bytes == 0;
  identity.text = fmt::format("Live at the end {} = active blocks of the final state {}{}",
                              humanBytes(by_trace), humanBytes(final_bytes),
                              verdict(identity.difference_bytes));
  return identity;
}

Identity reserved(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  Identity identity{.name = "reserved", .text = {}};
  const model::FinalSegments& segments = analysed.trace.final_segments;
  uint64_t final_bytes = 0;
  for (uint64_t s = device.device.final_segment_begin; s < device.device.final_segment_end; ++s) {
    final_bytes += segments.total_bytes[s];
  }
  Totals last = device.totals.last();
  identity.difference_bytes = difference(last.reserved_bytes, final_bytes);
  uint64_t over = 0;
  Step over_step = 0;
  device.totals.forEach(0, device.totals.steps(), [&](Step step, const Totals& totals) {
    if (totals.active_bytes > totals.reserved_bytes &&
        totals.active_bytes - totals.reserved_bytes > over) {
      over = totals.active_bytes - totals.reserved_bytes;
      over_step = step;
    }
  });
  identity.holds = identity.difference_bytes == 0 && over == 0;
  base::ByteUnit unit = base::unitFor(last.reserved_bytes);
  uint64_t free =
      last.reserved_bytes >= last.active_bytes ? last.reserved_bytes - last.active_bytes : 0;
  identity.text =
      fmt::format("Reserved {} = live {} + free {}{}", humanBytes(last.reserved_bytes, unit),
                  humanBytes(last.active_bytes, unit), humanBytes(free, unit),
                  verdict(identity.difference_bytes));
  if (over > 0) {
    identity.text += fmt::format("; at step {} {} more are live than reserved",
                                 base::withCommas(over_step), humanBytes(over));
    identity.difference_bytes = std::max(identity.difference_bytes, over);
  }
  return identity;
}

// A segment against its own blocks.
Identity segmentsAddUp(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  Identity identity{.name = "segments", .text = {}};
  const model::FinalSegments& segments = analysed.trace.final_segments;
  const model::FinalBlocks& blocks = analysed.trace.final_blocks;
  uint64_t wrong = 0;
  auto differs = [&](uint64_t said, uint64_t sum) {
    if (said == model::kUnknownBytes || said == sum) return false;
    identity.difference_bytes += difference(said, sum);
    return true;
  };
  uint64_t count = device.device.final_segment_end - device.device.final_segment_begin;
  for (uint64_t s = device.device.final_segment_begin; s < device.device.final_segment_end; ++s) {
    uint64_t total = 0, allocated = 0, active = 0, requested = 0;
    for (uint64_t b = segments.block_begin[s]; b < segments.block_end[s]; ++b) {
      uint64_t bytes = blocks.size_bytes[b];
      total += bytes;
      if (blocks.state[b] == model::BlockState::kActiveAllocated) allocated += bytes;
      if (blocks.state[b] == model::BlockState::kActiveAllocated ||
          blocks.state[b] == model::BlockState::kActivePendingFree) {
        active += bytes;
        requested += blocks.requested_bytes[b];
      }
    }
    bool any = differs(segments.total_bytes[s], total);
    any |= differs(segments.allocated_bytes[s], allocated);
    any |= differs(segments.active_bytes[s], active);
    any |= differs(segments.requested_bytes[s], requested);
    wrong += any;
  }
  identity.holds = wrong == 0;
  identity.text =
      wrong == 0
          ? fmt::format("{} segments equal the sums of their blocks", base::withCommas(count))
          : fmt::format("{} of {} segments differ from the sums of their blocks, by {} in all",
                        base::withCommas(wrong), base::withCommas(count),
                        humanBytes(identity.difference_bytes));
  return identity;
}

}  // namespace

ByProvenance byProvenance(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step) {
  ByProvenance bytes;
  const model::Allocations& a = analysed.trace.allocations;
  for (uint32_t row : device.live.liveAt(step)) {
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
  return {drawn(analysed, device), live(analysed, device), reserved(analysed, device),
          segmentsAddUp(analysed, device)};
}

}  // namespace tidegauge::analysis
