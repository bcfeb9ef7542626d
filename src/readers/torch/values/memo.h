// Memo: the values that a pickle memoized, by slot. Apart from the columns it is the largest
// structure of the reader, with two to four slots per event. So a slot has four bytes: a kind and
// 29 bits. A value that does not fit is in a list of its own.
//
//   slot   17: event 3      18: stack 2      19: other 0 ──► Values: [string at byte 812]
//
// It grows by moving pages, not by copying.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "base/memory/byte_buffer.h"
#include "readers/torch/values/value.h"

namespace tidegauge::readers::torch {

class Memo {
 public:
  // A slot's content. Equal entries are equal values.
  using Entry = uint32_t;

  uint64_t size() const { return size_; }
  // Slots that hold a value. Equal to size() for every file that a pickler writes.
  uint64_t used() const { return used_; }
  // How often a slot that held a value was given another one. No pickler does that.
  uint64_t replaced() const { return replaced_; }

  // Nothing for an empty slot.
  Value at(uint64_t slot) const { return valueOf(entries()[slot]); }
  Entry entryAt(uint64_t slot) const { return entries()[slot]; }
  // All of them, until one is added.
  std::span<const Entry> all() const { return {entries(), size_}; }
  static bool isFrame(Entry entry) { return entry >> kPayloadBits == kFrame; }
  // The bits in which an entry differs from a frame. Those of many entries may be joined by "or".
  static Entry unlikeFrame(Entry entry) { return entry ^ kFrame << kPayloadBits; }
  static bool isLikeFrame(Entry differences) { return differences >> kPayloadBits == 0; }
  static bool isStack(Entry entry) { return entry >> kPayloadBits == kStack; }
  static bool isEvent(Entry entry) { return entry >> kPayloadBits == kEvent; }
  // The entry must be a frame, a stack or an event.
  static uint32_t indexOf(Entry entry) { return entry & kPayloadMask; }
  // Rows beyond the returned number have no entry of their own.
  static constexpr uint64_t maxRows() { return kPayloadMask; }
  static Entry eventEntry(uint32_t row) { return kEvent << kPayloadBits | row; }

  // Creates `slot`; new slots are empty.
  void ensure(uint64_t slot) {
    if (slot < size_) return;
    reserve(slot + 1);
    std::memset(entries() + size_, 0, (slot + 1 - size_) * sizeof(Entry));
    size_ = slot + 1;
  }
  void set(uint64_t slot, Value value) {
    if (entries()[slot] == 0) {
      ++used_;
    } else {
      ++replaced_;
    }
    entries()[slot] = entryOf(value);
  }
  // The container in this slot was filled, or fetched while it was empty.
  void update(uint64_t slot, Value value) {
    Entry entry = shortEntryOf(value);
    if (entry != 0) {
      entries()[slot] = entry;
    } else {
      others_[entries()[slot]] = value;  // its own: no other slot has an empty container's entry
    }
  }

  // ---- for a memo without gaps, after makeRoom()
  bool dense() const { return used_ == size_; }
  void makeRoom(uint64_t slots) { reserve(size_ + slots); }
  void push(Value value) { pushEntry(entryOf(value)); }
  void pushEntry(Entry entry) {
    entries()[size_++] = entry;
    ++used_;
  }
  // What was pushed since can be dropped again.
  struct Mark {
    uint64_t size;
    size_t others;
  };
  Mark mark() const { return {size_, others_.size()}; }
  void dropTo(Mark mark) {
    size_ = used_ = mark.size;
    others_.resize(mark.others);
  }

 private:
  static constexpr int kPayloadBits = 29;
  static constexpr Entry kPayloadMask = (Entry{1} << kPayloadBits) - 1;
  // Entry 0 is an empty slot: others_ begins with a value that is never used.
  enum Kind : Entry { kOther, kEvent, kFrame, kStack };

  static Entry shortEntryOf(Value value) {
    if (value.payload() > kPayloadMask) return 0;
    auto payload = static_cast<Entry>(value.payload());
    switch (value.tag()) {
      case Tag::kEvent:
        return kEvent << kPayloadBits | payload;
      case Tag::kFrame:
        return kFrame << kPayloadBits | payload;
      case Tag::kStack:
        return kStack << kPayloadBits | payload;
      default:
        return 0;
    }
  }
  Entry entryOf(Value value) {
    Entry entry = shortEntryOf(value);
    if (entry != 0 || value.tag() == Tag::kNothing) return entry;
    if (others_.size() > kPayloadMask) throw std::bad_alloc();
    others_.push_back(value);
    return static_cast<Entry>(others_.size() - 1);
  }
  Value valueOf(Entry entry) const {
    Entry payload = entry & kPayloadMask;
    switch (entry >> kPayloadBits) {
      case kEvent:
        return Value::of(Tag::kEvent, payload);
      case kFrame:
        return Value::of(Tag::kFrame, payload);
      case kStack:
        return Value::of(Tag::kStack, payload);
      default:
        return others_[payload];
    }
  }

  Entry* entries() { return reinterpret_cast<Entry*>(buffer_.data()); }
  const Entry* entries() const { return reinterpret_cast<const Entry*>(buffer_.data()); }
  void reserve(uint64_t slots) {
    if (slots * sizeof(Entry) <= buffer_.capacity()) return;
    constexpr uint64_t kFirstSlots = 4096;
    uint64_t grown = slots + slots / 2 > kFirstSlots ? slots + slots / 2 : kFirstSlots;
    buffer_.reserve(grown * sizeof(Entry));
  }

  base::ByteBuffer buffer_;
  std::vector<Value> others_{Value()};
  uint64_t size_ = 0;
  uint64_t used_ = 0;
  uint64_t replaced_ = 0;
};

}  // namespace tidegauge::readers::torch
