// How many bytes per second a PCIe link carries, each way.
//
//   pcieBytesPerSecond(5, 16)   63,015,384,615: PCIe 5 with 16 lanes
//
// After encoding (8b/10b, 128b/130b, from generation 6 on 242 of each 256 bytes), before the heads
// of packets: no copy reaches all of it. Source: PCI Express Base Specification, 1.0 to 6.0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace tidegauge::model {

// Absent: there is no such link, or it is not known.
inline std::optional<int64_t> pcieBytesPerSecond(int64_t generation, int64_t lanes) {
  // Bits per second of a lane, without the encoding's own.
  constexpr std::array<double, 6> kPerLane = {2.5e9 * 8 / 10,   5e9 * 8 / 10,     8e9 * 128 / 130,
                                              16e9 * 128 / 130, 32e9 * 128 / 130, 64e9 * 242 / 256};
  constexpr int64_t kMaxLanes = 32;
  constexpr double kBitsPerByte = 8;
  if (generation < 1 || generation > static_cast<int64_t>(kPerLane.size()) || lanes < 1 ||
      lanes > kMaxLanes)
    return std::nullopt;
  double of_lane = kPerLane[static_cast<size_t>(generation - 1)];
  return static_cast<int64_t>(of_lane / kBitsPerByte * static_cast<double>(lanes));
}

}  // namespace tidegauge::model
