#include "wss/pages/drain_lists.h"

#include <sys/mman.h>

#include <cstdint>

#include "wss/pages/page_sums.h"

namespace tidegauge::wss {

void drainLists() {
  constexpr int kMadvCollapse = 25;      // newer than some headers
  constexpr size_t kBytes = 2 * kTable;  // so that a huge page would have a place
  void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return;
  uint64_t beyond = reinterpret_cast<uintptr_t>(at) % kTable;
  char* aligned = static_cast<char*>(at) + (kTable - beyond) % kTable;
  *static_cast<volatile char*>(aligned) = 1;  // the kernel passes over memory without a page
  madvise(aligned, kPage, kMadvCollapse);
  munmap(at, kBytes);
}

}  // namespace tidegauge::wss
