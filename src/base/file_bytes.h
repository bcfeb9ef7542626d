// FileBytes: the content of a file, mapped if it is a regular file, read if it is a pipe. "-" is
// standard input. Mapped pages belong to the page cache: they cost no memory of our own.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/byte_buffer.h"
#include "base/result.h"

namespace tidegauge::base {

class FileBytes {
 public:
  static Result<FileBytes> open(const std::string& path);
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes();

  std::span<const uint8_t> bytes() const { return mapped_.empty() ? read_.bytes() : mapped_; }

 private:
  FileBytes() = default;
  std::span<const uint8_t> mapped_;
  ByteBuffer read_;
};

}  // namespace tidegauge::base
