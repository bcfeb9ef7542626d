// A descriptor of a file that this process may read with SQLite at the same time, on another
// thread.
//
//   auto file = heldFile("run.sqlite");       nullptr: it does not exist, or is not a regular file
//   fcntl(file->descriptor(), F_OFD_GETLK, …)
//
// POSIX drops all locks of a process on a file when it closes any descriptor of it: SQLite would
// lose its locks while it reads, and a recorder that ends meanwhile may change the file under it.
// So all users share one descriptor, closed by the last of them; SqliteFile is a user.
//
// Cost: one open() for the first user, two stat() for the others. Safe to call from any thread.
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
  bool isAt(const std::string& path) const;  // does the path still lead to it?
  bool hasWriter() const;                    // a recorder holds its lock on the file
  bool isEnding() const;                     // it waits for all readers to close, to end this part

 private:
  bool isLocked(int64_t byte) const;
  int descriptor_;
};

std::shared_ptr<const HeldFile> heldFile(const std::string& path);

}  // namespace tidegauge::readers::recording
