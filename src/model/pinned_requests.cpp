#include "model/pinned_requests.h"

#include <algorithm>
#include <bit>

namespace tidegauge::model {

RequestRange requestOf(const Trace& trace, const Device& device, uint64_t stated_bytes) {
  bool may_be_rounded = device.kind == DeviceKind::kPinnedHost && trace.work == nullptr &&
                        std::has_single_bit(stated_bytes) && stated_bytes > 1 &&
                        stated_bytes <= trace.settings.pinned_round_limit_bytes;
  return {may_be_rounded ? stated_bytes / 2 + 1 : stated_bytes, stated_bytes};
}

bool statesRoundedRequests(const Trace& trace, const Device& device) {
  if (device.kind != DeviceKind::kPinnedHost) return false;
  const std::vector<uint64_t>& stated = trace.allocations.requested_bytes;
  return std::any_of(stated.begin() + static_cast<ptrdiff_t>(device.allocation_begin),
                     stated.begin() + static_cast<ptrdiff_t>(device.allocation_end),
                     [&](uint64_t bytes) { return !requestOf(trace, device, bytes).isKnown(); });
}

}  // namespace tidegauge::model
