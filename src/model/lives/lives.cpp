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

// Null if there are none for this device.
StartedLives* startedFor(const Device& device, const StartedDevices& started) {
  for (const auto& it : started) {
    if (it->areOf(device)) return it.get();
  }
  return nullptr;
}

// The whole column of subjects at once, if one device has all events.
void beginSubjects(Trace& trace, const StartedDevices& started) {
  std::vector<uint32_t>& subject = trace.events.subject;
  StartedLives* first = trace.devices.empty() ? nullptr : startedFor(trace.devices[0], started);
  if (first != nullptr && first->events == trace.events.size()) {
    subject = std::move(first->subject);
    return;
  }
  subject.assign(trace.events.size(), kNoBlock);
  for (const Device& device : trace.devices) {
    const StartedLives* it = startedFor(device, started);
    if (it == nullptr) continue;
    std::copy(it->subject.begin(), it->subject.end(),
              subject.begin() + static_cast<ptrdiff_t>(device.event_begin));
  }
}

void buildDevice(Trace& trace, Device& device, const CarriedAllocations& carried,
                 StartedLives* started) {
  device.gaps = findGaps(trace, device);
  device.missing = missingActions(trace, device);
  bool has_births = !device.missing.has(Action::kSegmentAlloc);
  if (has_births) buildPieceLives(trace, device);
  if (started != nullptr) {
    started->lives.finish(trace, device, isExplained);
  } else {
    BlockLives lives(carried);
    readAll(trace, device, lives);
    lives.finish(trace, device, isExplained);
  }
  if (!has_births) drawProvenSegments(trace, device);
  inferBlocks(trace, device);
  device.knows_requests = !statesRoundedRequests(trace, device);
  noteContradictions(trace, device);
  noteMissing(trace, device);
}

}  // namespace

void buildLives(Trace& trace, const CarriedAllocations& carried, StartedDevices started) {
  beginSubjects(trace, started);
  trace.final_segments.segment.assign(trace.final_segments.size(), SegmentId());
  trace.final_blocks.allocation.assign(trace.final_blocks.size(), AllocationId());
  for (Device& device : trace.devices)
    buildDevice(trace, device, carried, startedFor(device, started));
  noteOverflow(trace);
}

void buildLivesOf(Trace& trace, Device& device, const CarriedAllocations& carried) {
  buildDevice(trace, device, carried, nullptr);
}

void keepEventsAlone(Trace& trace) {
  trace.final_segments = {};
  trace.final_blocks = {};
  for (Device& device : trace.devices) device.final_segment_begin = device.final_segment_end = 0;
}

}  // namespace tidegauge::model
