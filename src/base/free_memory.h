// freeMemoryBytes: the memory that this process may still take before the machine, or its
// container, runs out. It bounds input without an end, or that unpacks to any size.
//
// Cost: reads two or three small files, some 30 µs. Source: proc_meminfo(5), the kernel's
// cgroup-v2.rst.
#pragma once

#include <cstdint>

namespace tidegauge::base {

// 2^64 − 1 if the system does not report it.
uint64_t freeMemoryBytes();

}  // namespace tidegauge::base
