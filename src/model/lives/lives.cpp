#include "model/lives/lives.h"

#include <algorithm>

#include "model/lives/block_layout.h"
#include "model/lives/blocks/gaps.h"
#include "model/lives/missing_actions.h"
#include "model/lives/piece_lives.h"
#include "model/lives/proven_segments.h"
#include "model/lives/recording_issues.h"
#include "model/lives/stated_sums.h"
#include "model/pinned_requests.h"

namespace tidegauge::model {
namespace {

// Rows of a range of events stay in the cache while they are filled.
constexpr Step kRange = 8192;

void readAll(Trace& trace, const Device& device, BlockLives& lives) {
  const std::vector<Action>& action = trace.events.action;
  auto begin = action.begin() + static_cast<ptrdiff_t>(device.event_begin);
  auto end = action.begin() + static_cast<ptrdiff_t>(device.event_end);
  lives.begin(device, static_cast<size_t>(std::count(begin, end, Action::kAlloc)));
  for (Step from = 0, steps = device.steps(); from < steps;) {
    Step to = from + std::min(kRange, steps - from);
    lives.addRows(rowsOf(trace.events, device, from, to));
    from = to;
  }
}

}  // namespace

void buildLives(Trace& trace, const CarriedAllocations& carried) {
  trace.events.subject.assign(trace.events.size(), kNoBlock);
  trace.final_segments.segment.assign(trace.final_segments.size(), SegmentId());
  trace.final_blocks.allocation.assign(trace.final_blocks.size(), AllocationId());
  for (Device& device : trace.devices) {
    device.gaps = findGaps(trace, device);
    device.missing = missingActions(trace, device);
    bool has_births = !device.missing.has(Action::kSegmentAlloc);
    if (has_births) buildPieceLives(trace, device);
    BlockLives lives(carried);
    readAll(trace, device, lives);
    lives.finish(trace, device, isExplained);
    if (!has_births) drawProvenSegments(trace, device);
    inferBlocks(trace, device);
    device.knows_requests = !statesRoundedRequests(trace, device);
    noteContradictions(trace, device);
    noteMissing(trace, device);
  }
  noteOverflow(trace);
}

void keepEventsAlone(Trace& trace) {
  trace.final_segments = {};
  trace.final_blocks = {};
  for (Device& device : trace.devices) device.final_segment_begin = device.final_segment_end = 0;
}

}  // namespace tidegauge::model
