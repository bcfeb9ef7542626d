#include "wss/pages/own_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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

}  // namespace tidegauge::wss
