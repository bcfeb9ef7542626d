// Requests huge pages for large memory that is about to be filled: one fault per 2 MiB instead of
// 512, each of which takes 1 µs and more in virtual machines. Does nothing if the kernel has none.
// Source: madvise(2), MADV_HUGEPAGE.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace tidegauge::base {

inline void preferHugePages(void* memory, size_t bytes) {
  constexpr uintptr_t kHuge = uintptr_t{2} << 20;
  auto begin = (reinterpret_cast<uintptr_t>(memory) + kHuge - 1) / kHuge * kHuge;
  uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / kHuge * kHuge;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the same memory, at a border
  if (begin < end) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace tidegauge::base
