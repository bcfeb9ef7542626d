#include "replay/stats.h"

namespace tidegauge::replay {

std::string_view name(Quantity quantity) {
  switch (quantity) {
    case Quantity::kAllocation: return "allocation";
    case Quantity::kAllocatedBytes: return "allocated_bytes";
    case Quantity::kActive: return "active";
    case Quantity::kActiveBytes: return "active_bytes";
    case Quantity::kRequestedBytes: return "requested_bytes";
    case Quantity::kInactiveSplit: return "inactive_split";
    case Quantity::kInactiveSplitBytes: return "inactive_split_bytes";
    case Quantity::kReservedBytes: return "reserved_bytes";
    case Quantity::kSegment: return "segment";
    case Quantity::kCount: break;
  }
  return "";
}

}  // namespace tidegauge::replay
