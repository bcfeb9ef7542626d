#include "wss/flush.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tidegauge::wss {
namespace {

// A page that was just written has its soft-dirty bit (55 of pagemap) where there are such bits:
// mappings are born with it. Only this page is looked at; nothing is cleared.
bool hasSoftDirty() {
  long page_bytes = sysconf(_SC_PAGESIZE);
  void* page = mmap(nullptr, static_cast<size_t>(page_bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return true;
  *static_cast<volatile char*>(page) = 1;
  uint64_t entry = uint64_t{1} << 55;  // if it cannot be told: do no harm
  int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    auto at =
        reinterpret_cast<uintptr_t>(page) / static_cast<uintptr_t>(page_bytes) * sizeof(entry);
    if (pread(file, &entry, sizeof(entry), static_cast<off_t>(at)) != sizeof(entry))
      entry = uint64_t{1} << 55;
    close(file);
  }
  munmap(page, static_cast<size_t>(page_bytes));
  return ((entry >> 55) & 1) != 0;
}

}  // namespace

Flush flushOfThisKernel() { return hasSoftDirty() ? Flush::kNone : Flush::kFree; }

}  // namespace tidegauge::wss
