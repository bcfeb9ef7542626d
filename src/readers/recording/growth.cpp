#include "readers/recording/growth.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/recording_format.h"

namespace tidegauge::readers::recording {
namespace {

Stamp::One stampOfOne(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return {};
  return {file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
}

}  // namespace

Stamp stampOf(const std::string& path) { return {stampOfOne(path), stampOfOne(path + "-wal")}; }

bool hasWriter(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = model::kWriterLockByte;
  lock.l_len = 1;
  bool held = ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
  ::close(file);
  return held;
}

bool isOpen(const std::string& path) {
  if (stampOfOne(path + "-wal").bytes >= 0) return true;
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  unsigned char write_version = 0;  // 2: with a journal of what is to come (WAL)
  bool read = ::pread(file, &write_version, 1, 18) == 1;
  ::close(file);
  return read && write_version == 2;
}

}  // namespace tidegauge::readers::recording
