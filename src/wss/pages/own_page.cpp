#include "wss/pages/own_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wss/pages/page_sums.h"

namespace tidegauge::wss {

OwnPage::OwnPage() : bytes_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))) {
  void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return;
  address_ = reinterpret_cast<uint64_t>(at);
  *static_cast<volatile char*>(at) = 1;
  int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  uint64_t entry = 0;
  auto place = static_cast<off_t>(address_ / bytes_ * sizeof(entry));
  if (pread(file, &entry, sizeof(entry), place) == sizeof(entry)) entry_ = entry;
  close(file);
}

OwnPage::~OwnPage() {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it came from mmap
  if (address_ != 0) munmap(reinterpret_cast<void*>(address_), bytes_);
}

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
