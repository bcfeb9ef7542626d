// Memo: the values that a pickle memoized, by slot. Grows by moving pages, not by copying: apart
// from the columns it is the largest structure of the reader (two to four values per event).
#pragma once

#include <cstdint>
#include <cstring>

#include "base/byte_buffer.h"
#include "readers/torch/pickle/value.h"

namespace tidegauge::readers::torch {

class Memo {
 public:
  uint64_t size() const { return size_; }
  // Slots that hold a value. Equal to size() for every file that a pickler writes.
  uint64_t used() const { return used_; }
  Value& operator[](uint64_t slot) { return values()[slot]; }

  // Creates `slot`; new slots are empty.
  void ensure(uint64_t slot) {
    if (slot < size_) return;
    reserve(slot + 1);
    std::memset(static_cast<void*>(values() + size_), 0, (slot + 1 - size_) * sizeof(Value));
    size_ = slot + 1;
  }
  void set(uint64_t slot, Value value) {
    if (values()[slot].tag() == Tag::kNothing) ++used_;
    values()[slot] = value;
  }

  // ---- for a memo without gaps, after makeRoom()
  bool dense() const { return used_ == size_; }
  void makeRoom(uint64_t slots) { reserve(size_ + slots); }
  void push(Value value) {
    values()[size_++] = value;
    ++used_;
  }
  void dropFrom(uint64_t size) { size_ = used_ = size; }

 private:
  Value* values() { return reinterpret_cast<Value*>(buffer_.data()); }
  void reserve(uint64_t slots) {
    if (slots * sizeof(Value) <= buffer_.capacity()) return;
    constexpr uint64_t kFirstSlots = 4096;
    uint64_t grown = slots + slots / 2 > kFirstSlots ? slots + slots / 2 : kFirstSlots;
    buffer_.reserve(grown * sizeof(Value));
  }

  base::ByteBuffer buffer_;
  uint64_t size_ = 0;
  uint64_t used_ = 0;
};

}  // namespace tidegauge::readers::torch
