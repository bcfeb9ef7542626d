#include "model/block_size.h"

#include <algorithm>
#include <bit>

namespace tidegauge::model {

uint64_t roundedBytes(uint64_t requested_bytes, const AllocatorSettings& settings) {
  return roundedByDivisions(requested_bytes, settings.roundup_power2_divisions);
}

uint64_t roundedByDivisions(uint64_t requested_bytes, const std::array<uint32_t, 16>& of_class) {
  if (requested_bytes < kMinBlockBytes) return kMinBlockBytes;
  if (requested_bytes > kMaxRequestBytes) return requested_bytes;
  int log2 = static_cast<int>(std::bit_width(requested_bytes)) - 1;
  uint64_t divisions = of_class[static_cast<size_t>(std::clamp(log2 - 20, 0, 15))];
  if (divisions > 1 && requested_bytes > kMinBlockBytes * divisions) {
    uint64_t floor = uint64_t{1} << log2;
    if (requested_bytes == floor) return floor;
    uint64_t step = floor / std::bit_floor(divisions);
    if (step == 0) return floor * 2;
    return (requested_bytes + step - 1) / step * step;
  }
  return (requested_bytes + kMinBlockBytes - 1) / kMinBlockBytes * kMinBlockBytes;
}

}  // namespace tidegauge::model
