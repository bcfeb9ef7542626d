// ByteBuffer: bytes that grow without being cleared or, for large ones, copied (realloc moves
// pages). A std::vector would write zeros over every byte before a decompressor writes the real
// one.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace tidegauge::base {

class ByteBuffer {
 public:
  // The content of [0, old capacity) is kept, the rest is undefined. Throws std::bad_alloc.
  void reserve(size_t capacity_bytes) {
    if (capacity_bytes <= capacity_bytes_) return;
    void* grown = std::realloc(data_.get(), capacity_bytes);
    if (grown == nullptr) throw std::bad_alloc();
    (void)data_.release();
    data_.reset(static_cast<uint8_t*>(grown));
    capacity_bytes_ = capacity_bytes;
  }
  void setSize(size_t size_bytes) { size_bytes_ = size_bytes; }

  uint8_t* data() { return data_.get(); }
  const uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_bytes_; }
  size_t capacity() const { return capacity_bytes_; }
  std::span<const uint8_t> bytes() const { return {data_.get(), size_bytes_}; }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<uint8_t[], Free> data_;
  size_t size_bytes_ = 0;
  size_t capacity_bytes_ = 0;
};

}  // namespace tidegauge::base
