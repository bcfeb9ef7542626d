#include "base/memory/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "base/container/group_memory.h"

namespace tidegauge::base {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// MemAvailable: free memory, and what the kernel would reclaim on demand.
uint64_t machineBytes() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  uint64_t kib = 0;
  while (file >> key >> kib) {
    std::getline(file, unit);
    if (key == "MemAvailable:") return kib * 1024;
  }
  return kUnlimited;
}

}  // namespace

uint64_t freeMemoryBytes() { return std::min(machineBytes(), groupMemoryBytes()); }

void preferHugePages(void* memory, size_t bytes) {
  constexpr uintptr_t kHuge = uintptr_t{2} << 20;
  auto begin = (reinterpret_cast<uintptr_t>(memory) + kHuge - 1) / kHuge * kHuge;
  uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / kHuge * kHuge;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the same memory, at a border
  if (begin < end) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

void takePages(void* memory, size_t bytes) {
#ifndef MADV_POPULATE_WRITE
  constexpr int MADV_POPULATE_WRITE = 23;
#endif
  constexpr uintptr_t kPage = 4096;
  auto begin = reinterpret_cast<uintptr_t>(memory) / kPage * kPage;
  uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / kPage * kPage;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the same memory, at a border
  if (begin < end) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
}

void allowManyFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace tidegauge::base
