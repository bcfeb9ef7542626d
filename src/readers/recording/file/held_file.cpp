#include "readers/recording/file/held_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

#include "model/recording_format.h"

namespace tidegauge::readers::recording {
namespace {

struct Shelf {
  std::mutex mutex;
  std::map<std::pair<dev_t, ino_t>, std::weak_ptr<const HeldFile>> files;
};

Shelf& shelf() {
  static Shelf one;
  return one;
}

}  // namespace

HeldFile::~HeldFile() { ::close(descriptor_); }

bool HeldFile::isAt(const std::string& path) const {
  struct stat ours {
  }, there{};
  return ::fstat(descriptor_, &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

bool HeldFile::hasWriter() const { return isLocked(model::kWriterLockByte); }
bool HeldFile::isEnding() const { return isLocked(model::kEndingLockByte); }

bool HeldFile::isLocked(int64_t byte) const {
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return ::fcntl(descriptor_, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

std::shared_ptr<const HeldFile> heldFile(const std::string& path) {
  Shelf& held = shelf();
  std::lock_guard lock(held.mutex);
  std::erase_if(held.files, [](const auto& entry) { return entry.second.expired(); });
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return nullptr;
  std::weak_ptr<const HeldFile>& known = held.files[{status.st_dev, status.st_ino}];
  if (auto file = known.lock()) return file;
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return nullptr;
  auto file = std::make_shared<const HeldFile>(descriptor);
  known = file;
  return file;
}

}  // namespace tidegauge::readers::recording
