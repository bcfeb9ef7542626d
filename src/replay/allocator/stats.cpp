#include "replay/allocator/stats.h"

namespace tidegauge::replay {

std::string_view name(Quantity quantity) {
  switch (quantity) {
    case Quantity::kAllocation:
      return "allocation";
    case Quantity::kAllocatedBytes:
      return "allocated_bytes";
    case Quantity::kActive:
      return "active";
    case Quantity::kActiveBytes:
      return "active_bytes";
    case Quantity::kRequestedBytes:
      return "requested_bytes";
    case Quantity::kInactiveSplit:
      return "inactive_split";
    case Quantity::kInactiveSplitBytes:
      return "inactive_split_bytes";
    case Quantity::kReservedBytes:
      return "reserved_bytes";
    case Quantity::kSegment:
      return "segment";
    case Quantity::kCount:
      break;
  }
  return "";
}

void Stats::beginAnew() {
  auto ofKinds = [](StatOfKinds& it) {
    for (Stat* stat : {&it.all, &it.small, &it.large}) stat->beginAnew();
  };
  std::ranges::for_each(of, ofKinds);
  std::ranges::for_each(reserved_of_owner, ofKinds);
  oversize_allocations.beginAnew();
  oversize_segments.beginAnew();
  retries = ooms = syncs = driver_allocs = driver_frees = 0;
}

}  // namespace tidegauge::replay
