#include "record/process/memory_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace tidegauge::record {
namespace {

bool writeAll(int file, std::span<const unsigned char> bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(file, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

int sealed(int file, bool is_filled, int seals) {
  if (file < 0 || (is_filled && fcntl(file, F_ADD_SEALS, seals | F_SEAL_SEAL) == 0)) return file;
  int why = errno;
  close(file);
  errno = why;
  return -1;
}

}  // namespace

int libraryInMemory(const char* name, std::span<const unsigned char> bytes) {
  int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return sealed(file, file >= 0 && writeAll(file, bytes),
                F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
}

int sharedMemory(const char* name, uint64_t bytes) {
  int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return sealed(file, file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0,
                F_SEAL_SHRINK | F_SEAL_GROW);
}

}  // namespace tidegauge::record
