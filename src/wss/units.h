// Nanoseconds and bytes as people read them.
#pragma once

#include <cstdint>

namespace tidegauge::wss {

inline double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }
inline double milliseconds(int64_t ns) { return static_cast<double>(ns) * 1e-6; }
inline double mib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace tidegauge::wss
