#include "readers/recording/file/growth.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "readers/recording/file/held_file.h"

namespace tidegauge::readers::recording {
namespace {

Stamp::One stampOfOne(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return {};
  return {file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
}

}  // namespace

Stamp stampOf(const std::string& path) {
  Stamp stamp{stampOfOne(path), stampOfOne(path + "-wal"), {}};
  auto index = heldFile(path + "-shm");
  if (index == nullptr || ::pread(index->descriptor(), stamp.commit.data(), stamp.commit.size(),
                                  0) != static_cast<ssize_t>(stamp.commit.size()))
    stamp.commit.fill(0);
  return stamp;
}

bool hasWriter(const std::string& path) {
  auto file = heldFile(path);
  return file != nullptr && file->hasWriter();
}

bool letPartEnd(const std::string& path) {
  constexpr auto kEvery = std::chrono::milliseconds(5);
  constexpr int kMost = 600;  // longer than a recorder waits
  bool was_ending = false;
  for (int i = 0; i < kMost; ++i) {
    auto file = heldFile(path);
    // Between two parts, no file has the name.
    bool is_ready = file == nullptr ? !was_ending : !file->isEnding();
    if (is_ready) return true;
    was_ending = true;
    file.reset();
    std::this_thread::sleep_for(kEvery);
  }
  return false;
}

bool isOpen(const std::string& path) {
  if (stampOfOne(path + "-wal").bytes >= 0) return true;
  auto file = heldFile(path);
  unsigned char write_version = 0;  // 2: with a write-ahead log (WAL)
  return file != nullptr && ::pread(file->descriptor(), &write_version, 1, 18) == 1 &&
         write_version == 2;
}

}  // namespace tidegauge::readers::recording
