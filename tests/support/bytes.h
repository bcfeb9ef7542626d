// Sizes and the address at which made-up memory begins, as tests write them.
#pragma once

#include <cstdint>

namespace tidegauge {

inline constexpr uint64_t kKiB = uint64_t{1} << 10;
inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;

inline constexpr uint64_t kA = 0x7f0000000000;

}  // namespace tidegauge
