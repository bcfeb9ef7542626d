// freeMemoryBytes: how much memory this process may still take before the machine, or the container
// it runs in, has none left. Input without an end, or that unpacks to anything, is bounded by it.
//
// Cost: reads two or three small files, some 30 µs. Source: proc_meminfo(5), the kernel's
// cgroup-v2.rst.
#pragma once

#include <cstdint>

namespace tidegauge::base {

// 2^64 − 1 if the system does not say.
uint64_t freeMemoryBytes();

}  // namespace tidegauge::base
