#include "replay/tape.h"

#include <algorithm>
#include <numeric>

#include "replay/allocator/settings.h"

namespace tidegauge::replay {

using model::Action;

Tape::Tape(const model::Trace& trace, const model::Device& device)
    : trace_(&trace),
      device_(&device),
      large_segment_bytes_(settingsIn(trace.settings.conf).large_segment_bytes),
      ranks_(trace.streams.size()) {
  std::vector<StreamRank> order(trace.streams.size());
  std::iota(order.begin(), order.end(), StreamRank{0});
  std::ranges::sort(order, {}, [&](StreamRank id) { return trace.streams[id].raw; });
  for (size_t rank = 0; rank < order.size(); ++rank)
    ranks_[order[rank]] = static_cast<StreamRank>(rank);
}

uint32_t Tape::name(model::Step step) const {
  Action action = this->action(step);
  if (action != Action::kAlloc && action != Action::kFreeRequested &&
      action != Action::kFreeCompleted && action != Action::kFree)
    return kNoName;
  uint32_t subject = events().subject[row(step)];
  if (subject < device_->allocation_begin || subject >= device_->allocation_end) return kNoName;
  return static_cast<uint32_t>(subject - device_->allocation_begin);
}

OwnerIndex Tape::owner(model::Step step) const {
  if (hasOwners()) return ownerOf(events().pool[row(step)]);
  uint32_t subject = events().subject[row(step)];
  switch (action(step)) {
    case Action::kSegmentAlloc:
    case Action::kSegmentFree:
    case Action::kSegmentMap:
    case Action::kSegmentUnmap:
      return subject < trace_->segments.size() ? ownerOf(trace_->segments.pool[subject])
                                               : OwnerIndex{0};
    case Action::kAlloc:
    case Action::kFreeRequested:
    case Action::kFreeCompleted:
      return subject < trace_->allocations.size() ? ownerOf(trace_->allocations.pool[subject])
                                                  : OwnerIndex{0};
    default:
      return 0;
  }
}

}  // namespace tidegauge::replay
