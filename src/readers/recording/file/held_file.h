// A descriptor of a file that this process may read with SQLite at the same time, on another
// thread.
//
//   auto file = heldFile("run.sqlite");       nullptr: it is not there, or no regular file
//   fcntl(file->descriptor(), F_OFD_GETLK, …)
//
// POSIX drops all locks that a process has on a file when it closes any descriptor of it: a SQLite
// that reads there would lose its ground, and a recorder that ends meanwhile may change the file
// under it. So there is one descriptor for all who ask, closed when the last of them is done;
// SqliteFile is one.
//
// Cost: an open() for the first, two stat() for the others. Safe to call from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tidegauge::readers::recording {

class HeldFile {
 public:
  explicit HeldFile(int descriptor) : descriptor_(descriptor) {}
  ~HeldFile();
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  int descriptor() const { return descriptor_; }
  bool isAt(const std::string& path) const;  // does the path lead to it still?
  bool hasWriter() const;                    // a recorder holds its lock on the file
  bool isEnding() const;                     // it waits until nobody reads, to end this part

 private:
  bool isLocked(int64_t byte) const;
  int descriptor_;
};

std::shared_ptr<const HeldFile> heldFile(const std::string& path);

}  // namespace tidegauge::readers::recording
