#include "base/file_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "base/memory/memory.h"

namespace tidegauge::base {
namespace {

Error fileError(int number) {
  Error error{ErrorKind::kUnreadable, std::strerror(number), std::nullopt, ""};
  if (number == ENOENT) error.what = "no such file";
  if (number == EACCES) error.what = "no permission to read this file";
  if (number == EISDIR) {
    error.what = "this is a folder";
    error.hint = "Give the name of a snapshot file inside it.";
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

// Fills the buffer up to `most_bytes` or the end of the stream; false at the end.
Result<bool> readUpTo(int descriptor, uint64_t most_bytes, ByteBuffer& buffer) {
  size_t size = buffer.size();
  while (size < most_bytes) {
    size_t doubled = std::max<size_t>(StreamLimits::kStartBytes, size * 2);
    if (size == buffer.capacity()) buffer.reserve(std::min<uint64_t>(doubled, most_bytes));
    ssize_t count = ::read(descriptor, buffer.data() + size, buffer.capacity() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fileError(errno);
    if (count == 0) return false;
    size += static_cast<size_t>(count);
    buffer.setSize(size);
  }
  return true;
}

Status readAll(int descriptor, const StreamLimits& limits, ByteBuffer& buffer) {
  try {
    uint64_t start_bytes = StreamLimits::kStartBytes;
    TG_ASSIGN_OR_RETURN(bool more, readUpTo(descriptor, start_bytes, buffer));
    if (!more || (limits.wanted && !limits.wanted(buffer.bytes()))) return okStatus();
    uint64_t most_bytes = limits.most_bytes.value_or(freeMemoryBytes() / 2);
    TG_ASSIGN_OR_RETURN(more, readUpTo(descriptor, most_bytes, buffer));
    if (!more) return okStatus();
    return Error{
        ErrorKind::kLimit,
        fmt::format("the input is longer than {}, half of the free memory", humanBytes(most_bytes)),
        buffer.size(), "Save it to a file and open the file, which needs less memory."};
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kLimit, "not enough memory to read this input", buffer.size(),
                 "Save it to a file and open the file, which needs less memory."};
  }
}

}  // namespace

Result<FileBytes> FileBytes::open(const std::string& path, const StreamLimits& limits) {
  Descriptor file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return fileError(errno);
  struct stat info {};
  if (::fstat(file.number(), &info) != 0) return fileError(errno);
  if (S_ISDIR(info.st_mode)) return fileError(EISDIR);
  FileBytes result;
  // Files in /proc and similar report a size of 0, so they are read.
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    auto size = static_cast<size_t>(info.st_size);
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (mapped != MAP_FAILED) {
      ::madvise(mapped, size, MADV_SEQUENTIAL);
      result.mapped_ = {static_cast<const uint8_t*>(mapped), size};
      result.range_ = MappedRange(result.mapped_);
      result.stamp_ = stampOf(file.number());
      result.descriptor_ = fcntl(file.number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
      return result;
    }
  }
  TG_RETURN_IF_ERROR(readAll(file.number(), limits, result.read_));
  return result;
}

FileBytes::Stamp FileBytes::stampOf(int descriptor) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return {};
  return {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

bool FileBytes::hasChanged() const {
  return range_.isCut() || (descriptor_ >= 0 && stampOf(descriptor_) != stamp_);
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : mapped_(std::exchange(other.mapped_, {})),
      range_(std::move(other.range_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      stamp_(other.stamp_),
      read_(std::move(other.read_)) {}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(range_, other.range_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(stamp_, other.stamp_);
  std::swap(read_, other.read_);
  return *this;
}

FileBytes::~FileBytes() {
  range_ = MappedRange();  // before others may get these addresses
  if (!mapped_.empty()) ::munmap(const_cast<uint8_t*>(mapped_.data()), mapped_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tidegauge::base
