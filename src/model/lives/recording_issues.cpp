#include "model/lives/recording_issues.h"

#include <algorithm>

#include "model/lives/missing_actions.h"

namespace tidegauge::model {
namespace {

// Stacks that were recorded: not those that the reader made of a compiled region's name.
class RecordedStacks {
 public:
  explicit RecordedStacks(const Trace& trace) : is_recorded_(trace.stacks.size()) {
    for (uint32_t s = 0; s < is_recorded_.size(); ++s) {
      StackId stack(s);
      FrameList frames = trace.stacks.framesOf(stack);
      is_recorded_[s] = std::any_of(frames.begin(), frames.end(), [&](FrameId frame) {
        size_t f = frame.index();
        return trace.frames.kind[f] != FrameKind::kForward &&
               !trace.strings.text(trace.frames.file[f]).empty();
      });
    }
  }
  bool anyIn(const std::vector<StackId>& stacks, uint64_t begin, uint64_t end) const {
    return std::any_of(stacks.begin() + static_cast<ptrdiff_t>(begin),
                       stacks.begin() + static_cast<ptrdiff_t>(end),
                       [&](StackId stack) { return stack.valid() && is_recorded_[stack.index()]; });
  }

 private:
  std::vector<bool> is_recorded_;
};

void noteOverflowOf(Trace& trace, const Device& device) {
  bool round = device.steps() >= 10000 && device.steps() % 1000 == 0;
  const std::vector<Issue>& issues = trace.issues.all();
  bool older = std::any_of(issues.begin(), issues.end(), [&](const Issue& issue) {
    return issue.kind == IssueKind::kFreeWithoutAlloc && issue.device == device.ordinal;
  });
  if (round && older) {
    trace.issues.add({.kind = IssueKind::kRingOverflow, .device = device.ordinal, .first_step = 0});
  }
}

// Stacks of final blocks show that history was on: PyTorch records none without it.
bool blocksHaveStacks(const Trace& trace, const RecordedStacks& recorded, const Device& device) {
  const FinalSegments& segments = trace.final_segments;
  for (uint64_t s = device.final_segment_begin; s < device.final_segment_end; ++s) {
    if (recorded.anyIn(segments.stack, s, s + 1) ||
        recorded.anyIn(trace.final_blocks.stack, segments.block_begin[s], segments.block_end[s])) {
      return true;
    }
  }
  return false;
}

void noteDeviceWithoutEvents(Trace& trace, const RecordedStacks& recorded, const Device& device) {
  if (device.kind != DeviceKind::kGpu) return;
  if (trace.issues.count(IssueKind::kNoEventList) > 0) return;  // that explains it
  const Device* host = trace.findDevice(-1);
  if (blocksHaveStacks(trace, recorded, device)) {
    trace.issues.add({.kind = IssueKind::kOnlyState, .device = device.ordinal});
  } else if (host != nullptr && host->steps() > 0) {
    trace.issues.add({.kind = IssueKind::kNoDeviceHistory, .device = device.ordinal});
  }
}

}  // namespace

bool isExplained(ActionSet missing, IssueKind kind) {
  switch (kind) {
    case IssueKind::kFreeWithoutAlloc:
    case IssueKind::kFreeAgain:
    case IssueKind::kFinalBlockOverlaps:
      return missing.has(Action::kAlloc);
    case IssueKind::kAllocOverLive:
    case IssueKind::kGoneWithoutFree:
      return missing.has(Action::kFreeRequested) && missing.has(Action::kFreeCompleted);
    case IssueKind::kOutsideSegments:
      return missing.has(Action::kSegmentAlloc);
    default:
      return false;
  }
}

void noteMissing(Trace& trace, const Device& device) {
  if (!device.missing.empty()) {
    trace.issues.add({.kind = IssueKind::kMissingActions,
                      .device = device.ordinal,
                      .detail = namesOf(device.missing)});
  }
  for (Step gap : device.gaps) trace.note(device, IssueKind::kRecordingGap, gap, 0);
}

// The ring buffer holds max_entries events, usually a round number, and drops the oldest.
void noteOverflow(Trace& trace) {
  for (const Device& device : trace.devices) noteOverflowOf(trace, device);
}

void noteHistory(Trace& trace) {
  RecordedStacks recorded(trace);
  for (const Device& device : trace.devices) {
    if (device.steps() == 0) noteDeviceWithoutEvents(trace, recorded, device);
  }
  uint64_t events = trace.events.size();
  if (events > 0 && !recorded.anyIn(trace.events.stack, 0, events)) {
    trace.issues.add({.kind = IssueKind::kNoStacks});
  }
}

}  // namespace tidegauge::model
