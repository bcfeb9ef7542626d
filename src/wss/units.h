// Nanoseconds and bytes as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace tidegauge::wss {

inline double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }
inline double milliseconds(int64_t ns) { return static_cast<double>(ns) * 1e-6; }
inline double mib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }
inline double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}
// In MiB, with as many decimals as fit, at most two: "1234.5".
std::string fitted(uint64_t bytes, size_t width);

}  // namespace tidegauge::wss
