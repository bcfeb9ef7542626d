// What a smaller batch makes smaller, and what it leaves as it is.
//
//   scales     activations, attention, norm, logits; whatever else is allocated and freed
//   constant   older      than the recording
//              parameter, optimizer, communication     by its category (labels/categories.h)
//              gradient   as large as a parameter, or as an older block that is never freed
//              never freed, and neither is anything else of its stack
//
// Neither a batch nor its share of a request is in a file, so this is a rule of thumb. When in
// doubt, memory is constant: then a factor promises less. What the program frees after its last
// request counts as never freed. Cost: O(events + allocations).
#pragma once

#include <array>
#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

enum class Scaling : uint8_t {
  kScales,
  kOlder,
  kParameter,
  kOptimizer,
  kCommunication,
  kGradient,
  kNeverFreed,
};
inline constexpr size_t kScalings = 7;

// One value for each allocation of the device, from its first row on.
std::vector<Scaling> scalingOf(const AnalysedTrace& analysed, const DeviceAnalysis& device);

// Bytes in blocks that are live after that step, by Scaling.
std::array<uint64_t, kScalings> bytesByScaling(const AnalysedTrace& analysed,
                                               const DeviceAnalysis& device,
                                               const std::vector<Scaling>& scaling, Step step);

}  // namespace tidegauge::analysis
