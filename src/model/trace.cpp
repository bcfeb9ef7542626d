#include "model/trace.h"

#include <algorithm>
#include <cassert>

namespace tidegauge::model {

const Device& Trace::deviceOfAllocation(AllocationId id) const {
  auto found = std::find_if(devices.begin(), devices.end(),
                            [&](const Device& d) { return id.index() < d.allocation_end; });
  assert(found != devices.end());
  return *found;
}

const Device& Trace::deviceOfSegment(SegmentId id) const {
  auto found = std::find_if(devices.begin(), devices.end(),
                            [&](const Device& d) { return id.index() < d.segment_end; });
  assert(found != devices.end());
  return *found;
}

const Device* Trace::findDevice(int32_t ordinal) const {
  auto found = std::find_if(devices.begin(), devices.end(),
                            [&](const Device& d) { return d.ordinal == ordinal; });
  return found == devices.end() ? nullptr : &*found;
}

void Trace::note(const Device& device, IssueKind kind, Step step, uint64_t bytes) {
  issues.add({.kind = kind,
              .device = device.ordinal,
              .first_step = step < device.steps() ? step : Issue::kNone,
              .bytes = bytes});
}

std::string_view Trace::actionName(Action action) const {
  if (action < Action::kFirstUnknown) return name(action);
  size_t index = static_cast<size_t>(action) - static_cast<size_t>(Action::kFirstUnknown);
  return index < unknown_actions.size() ? strings.text(unknown_actions[index]) : "unknown";
}

const AskedSetting* AllocatorSettings::askedFor(std::string_view key) const {
  auto found = std::find_if(asked.rbegin(), asked.rend(),
                            [&](const AskedSetting& it) { return it.key == key; });
  return found == asked.rend() ? nullptr : &*found;
}

bool AllocatorSettings::isInEffect(std::string_view key) const {
  const AskedSetting* it = askedFor(key);
  return it != nullptr && !it->differs;
}

bool AllocatorSettings::isIgnored(std::string_view key) const {
  const AskedSetting* it = askedFor(key);
  return it != nullptr && it->differs;
}

std::string_view name(Action known) {
  constexpr std::string_view kNames[] = {"alloc",       "free_requested", "free_completed",
                                         "free",        "segment_alloc",  "segment_free",
                                         "segment_map", "segment_unmap",  "oom",
                                         "snapshot",    "annotate",       "user_defined"};
  return kNames[static_cast<size_t>(known)];
}

std::string_view name(Provenance provenance) {
  constexpr std::string_view kNames[] = {"traced", "before_recording", "lost", "ghost"};
  return kNames[static_cast<size_t>(provenance)];
}

std::string_view name(SegmentKind kind) {
  constexpr std::string_view kNames[] = {"small", "large", "expandable", "unknown"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view name(BlockState state) {
  constexpr std::string_view kNames[] = {"active_allocated", "active_pending_free", "inactive",
                                         "unknown"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view name(FrameKind kind) {
  constexpr std::string_view kNames[] = {"python", "cpp", "other", "forward"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace tidegauge::model
