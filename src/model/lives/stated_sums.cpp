#include "model/lives/stated_sums.h"

#include <algorithm>

#include "model/lives/block_layout.h"
#include "model/lives/other_events.h"

namespace tidegauge::model {
namespace {

uint64_t difference(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

bool isActive(BlockState state) {
  return state == BlockState::kActiveAllocated || state == BlockState::kActivePendingFree;
}

uint64_t liveAtEndBytes(const Trace& trace, const Device& device) {
  const Allocations& a = trace.allocations;
  uint64_t bytes = 0;
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    bool live = a.last_step[row] == device.steps() &&
                (device.steps() == 0 || a.first_step[row] < device.steps());
    if (live) bytes += a.block_bytes[row];
  }
  return bytes;
}

}  // namespace

uint64_t segmentDifferenceBytes(const Trace& trace, uint64_t row) {
  const FinalSegments& segments = trace.final_segments;
  const FinalBlocks& blocks = trace.final_blocks;
  uint64_t total = 0, allocated = 0, active = 0, requested = 0;
  for (uint64_t b = segments.block_begin[row]; b < segments.block_end[row]; ++b) {
    total += blocks.size_bytes[b];
    if (!isActive(blocks.state[b])) continue;
    active += blocks.size_bytes[b];
    requested += blocks.requested_bytes[b];
    if (blocks.state[b] == BlockState::kActiveAllocated) allocated += blocks.size_bytes[b];
  }
  auto differs = [](uint64_t stated, uint64_t sum) {
    return stated == kUnknownBytes ? 0 : difference(stated, sum);
  };
  return differs(segments.total_bytes[row], total) +
         differs(segments.allocated_bytes[row], allocated) +
         differs(segments.active_bytes[row], active) +
         differs(segments.requested_bytes[row], requested);
}

uint64_t finalActiveBytes(const Trace& trace, const Device& device) {
  const FinalSegments& segments = trace.final_segments;
  uint64_t bytes = 0;
  for (uint64_t s = device.final_segment_begin; s < device.final_segment_end; ++s) {
    for (uint64_t b = segments.block_begin[s]; b < segments.block_end[s]; ++b) {
      if (isActive(trace.final_blocks.state[b])) bytes += trace.final_blocks.size_bytes[b];
    }
  }
  return bytes;
}

uint64_t Checksum::differenceBytes() const {
  if (stated_bytes < live_bytes) return live_bytes - stated_bytes;
  uint64_t more = stated_bytes - live_bytes;
  return more > slack_bytes ? more - slack_bytes : 0;
}

std::vector<Checksum> snapshotChecksums(const Trace& trace, const Device& device) {
  std::vector<Checksum> sums;
  forEachOther(trace.events, device, [&](uint64_t event) {
    if (trace.events.action[event] != Action::kSnapshot) return;
    if (trace.events.size_bytes[event] == kUnknownBytes) return;
    sums.push_back({.step = static_cast<Step>(event - device.event_begin),
                    .stated_bytes = trace.events.size_bytes[event]});
  });
  if (sums.empty()) return sums;
  // A block counts from the first snapshot in its life to the last: its size is added at the first
  // and subtracted after the last; running sums then give every snapshot its total.
  sums.emplace_back();
  const Allocations& a = trace.allocations;
  auto firstAt = [&](Step step) {
    return std::partition_point(sums.begin(), sums.end() - 1,
                                [&](const Checksum& sum) { return sum.step < step; });
  };
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    auto from = firstAt(a.first_step[row]);
    auto to = firstAt(std::max(a.first_step[row], a.last_step[row]));
    uint64_t slack = blockSlackBytes(trace, row);
    from->live_bytes += a.block_bytes[row];
    from->slack_bytes += slack;
    to->live_bytes -= a.block_bytes[row];
    to->slack_bytes -= slack;
  }
  sums.pop_back();
  for (size_t i = 1; i < sums.size(); ++i) {
    sums[i].live_bytes += sums[i - 1].live_bytes;
    sums[i].slack_bytes += sums[i - 1].slack_bytes;
  }
  return sums;
}

void noteContradictions(Trace& trace, const Device& device) {
  auto note = [&](IssueKind kind, Step step, uint64_t bytes) {
    if (bytes > 0) trace.note(device, kind, step, bytes);
  };
  for (uint64_t row = device.final_segment_begin; row < device.final_segment_end; ++row) {
    note(IssueKind::kFinalTotalsDiffer, kNoStep, segmentDifferenceBytes(trace, row));
  }
  note(IssueKind::kFinalLiveDiffers, kNoStep,
       difference(liveAtEndBytes(trace, device), finalActiveBytes(trace, device)));
  for (const Checksum& sum : snapshotChecksums(trace, device)) {
    note(IssueKind::kSnapshotChecksum, sum.step, sum.differenceBytes());
  }
}

}  // namespace tidegauge::model
