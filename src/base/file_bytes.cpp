#include "base/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tidegauge::base {
namespace {

Error fileError(int number) {
  Error error{ErrorKind::kUnreadable, std::strerror(number), std::nullopt, ""};
  if (number == ENOENT) error.what = "no such file";
  if (number == EACCES) error.what = "no permission to read this file";
  if (number == EISDIR) {
    error.what = "this is a directory";
    error.hint = "Name a snapshot file inside it.";
  }
  return error;
}

// Closes the descriptor when it goes out of scope; leaves standard input open.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ > STDIN_FILENO) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

Status readAll(int descriptor, ByteBuffer& buffer) {
  constexpr size_t kFirstBytes = 1 << 16;
  try {
    size_t size = 0;
    for (;;) {
      if (size == buffer.capacity()) buffer.reserve(size == 0 ? kFirstBytes : size * 2);
      ssize_t count = ::read(descriptor, buffer.data() + size, buffer.capacity() - size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fileError(errno);
      if (count == 0) break;
      size += static_cast<size_t>(count);
    }
    buffer.setSize(size);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kLimit, "not enough memory to read this input", std::nullopt, ""};
  }
  return okStatus();
}

}  // namespace

Result<FileBytes> FileBytes::open(const std::string& path) {
  Descriptor file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return fileError(errno);
  struct stat info {};
  if (::fstat(file.number(), &info) != 0) return fileError(errno);
  if (S_ISDIR(info.st_mode)) return fileError(EISDIR);
  FileBytes result;
  // Files of /proc and the like say that they are empty: read those.
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    auto size = static_cast<size_t>(info.st_size);
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (mapped != MAP_FAILED) {
      ::madvise(mapped, size, MADV_SEQUENTIAL);
      result.mapped_ = {static_cast<const uint8_t*>(mapped), size};
      return result;
    }
  }
  TG_RETURN_IF_ERROR(readAll(file.number(), result.read_));
  return result;
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : mapped_(std::exchange(other.mapped_, {})), read_(std::move(other.read_)) {}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(read_, other.read_);
  return *this;
}

FileBytes::~FileBytes() {
  if (!mapped_.empty()) ::munmap(const_cast<uint8_t*>(mapped_.data()), mapped_.size());
}

}  // namespace tidegauge::base
