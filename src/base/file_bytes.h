// FileBytes: the content of a file, mapped if it is a regular file, read if it is a pipe. "-" is
// standard input. Mapped pages belong to the page cache and cost no memory of this process. What
// another program does to a mapped file changes its bytes: hasChanged(), after reading.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/memory/byte_buffer.h"
#include "base/memory/cut_files.h"
#include "base/result.h"

namespace tidegauge::base {

// For input that is read because it cannot be mapped: it may be endless.
struct StreamLimits {
  // Called once, with the first bytes (kStartBytes, or all if fewer). If false, reading stops and
  // the start is the content, so that the caller can report what is wrong.
  std::function<bool(std::span<const uint8_t> start)> wanted;
  // Longer content is an error. Usually half of the free memory: parsing needs the rest.
  std::optional<uint64_t> most_bytes;

  static constexpr size_t kStartBytes = 1 << 16;
};

class FileBytes {
 public:
  static Result<FileBytes> open(const std::string& path, const StreamLimits& limits = {});
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes();

  // Was it cut, or written, since it was opened? Not known of what was read, or of standard input.
  bool hasChanged() const;

  std::span<const uint8_t> bytes() const { return mapped_.empty() ? read_.bytes() : mapped_; }

 private:
  FileBytes() = default;
  // To know that it is the same content.
  struct Stamp {
    int64_t bytes = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stampOf(int descriptor);

  std::span<const uint8_t> mapped_;
  MappedRange range_;
  int descriptor_ = -1;  // of a mapped file
  Stamp stamp_;
  ByteBuffer read_;
};

}  // namespace tidegauge::base
