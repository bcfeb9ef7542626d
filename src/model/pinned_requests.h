// What a program requested of pinned host memory. PyTorch's host allocator rounds a request up to a
// power of two, and writes only the result, as the requested size too:
//
//   stated 4 GiB                                more than 2 GiB and at most 4 GiB were requested
//   stated 3 GiB, or above max_round_threshold  exactly that: it was not rounded
//
// Source: CachingHostAllocator; pinned_max_round_threshold_mb.
#pragma once

#include <cstdint>

#include "model/trace.h"

namespace tidegauge::model {

struct RequestRange {
  uint64_t least_bytes = 0;
  uint64_t most_bytes = 0;
  bool isKnown() const { return least_bytes == most_bytes; }
};

// The request behind a stated size on this device.
RequestRange requestOf(const Trace& trace, const Device& device, uint64_t stated_bytes);
// The bytes if they are known, else kUnknownBytes.
inline uint64_t knownRequest(const Trace& trace, const Device& device, uint64_t stated_bytes) {
  RequestRange range = requestOf(trace, device, stated_bytes);
  return range.isKnown() ? range.most_bytes : kUnknownBytes;
}
// A sum of the device's requests: kUnknownBytes if one of them is unknown.
inline uint64_t knownSum(const Device& device, uint64_t bytes) {
  return device.knows_requests ? bytes : kUnknownBytes;
}

// Does the device state a size that may have been rounded?
bool statesRoundedRequests(const Trace& trace, const Device& device);

}  // namespace tidegauge::model
