// Costs of the steps of a measurement, for predictions. Measured on one x86-64 machine
// (docs/performance.md); other machines differ by up to a factor of two.
#pragma once

#include "wss/backends/backend.h"

namespace tidegauge::wss {

inline constexpr double kClearOfAPage_ns = 45;   // clear_refs, while mmap waits
inline constexpr double kSmapsOfAPage_ns = 39;   // smaps
inline constexpr double kReadOfATable_ns = 600;  // 2 MiB by BPF
// MADV_COLD of a part of a table, and reading it: per part, and per page in it.
inline constexpr double kPartOfATable_ns = 1600, kPageOfAPart_ns = 45;
// Per mapping, whatever it contains: to walk to it, to list it and to read the list; and how long
// mmap waits for the walk.
inline constexpr Cost kMappingByPte{900, 400}, kMappingBySample{1300, 250},
    kMappingBySmaps{5600, 850};
inline constexpr int64_t kStallOfASample_ns = 1'000'000;

inline double pagesOf(uint64_t bytes) { return static_cast<double>(bytes) / 4096; }
inline double tablesFor(uint64_t bytes) { return static_cast<double>(bytes) / (2 << 20); }
inline Cost costOf(double cpu_ns, double stall_ns, const Cost& of_a_mapping, size_t mappings) {
  auto count = static_cast<int64_t>(mappings);
  return {static_cast<int64_t>(cpu_ns) + of_a_mapping.cpu_ns * count,
          static_cast<int64_t>(stall_ns) + of_a_mapping.stall_ns * count};
}

}  // namespace tidegauge::wss
