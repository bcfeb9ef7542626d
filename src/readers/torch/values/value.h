// Value: any value of a pickle or JSON in eight bytes: a tag and 56 bits that are the value or say
// where it is.
//
//   tag │ payload
//   int │ −2^55 … 2^55−1            wide │ index of a number that needs more (Values)
//   string │ word (8) + offset of its opcode in the input (48)
//   event │ row (32) + number of rows that follow it (24): a run of a million events is one value
//
// Eight bytes matter: a pickle memoizes two to four objects per event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "readers/torch/values/words.h"

namespace tidegauge::readers::torch {

enum class Tag : uint8_t {
  kNothing,  // no value: an empty memo slot
  // Containers that may still be filled: payload = offset of the opcode (their identity).
  kEmptyDict,
  kEmptyList,
  kNone,
  kBool,
  kInt,
  kWide,
  kFloat,
  kString,  // stored in the input
  kText,    // in the trace's strings: word (8) + StringId
  kBytes,
  kDict,  // node of the tree
  kList,
  kTuple,
  kPair,     // a tuple of two integers: index of the pair (Values)
  kEvent,    // a dict that became a row
  kFrame,    // a dict that became a FrameId
  kStack,    // a list that became a StackId
  kForward,  // a list of texts that became a list of ForwardStacks
};

struct Value {
  uint64_t bits = 0;

  static constexpr int kTagShift = 56;
  static constexpr uint64_t kPayloadMask = (uint64_t{1} << kTagShift) - 1;
  static constexpr int kWordShift = 48;
  static constexpr uint64_t kOffsetMask = (uint64_t{1} << kWordShift) - 1;
  // Set on an empty container in the memo once it was fetched from there.
  static constexpr uint64_t kSharedBit = uint64_t{1} << 55;

  static constexpr Value of(Tag tag, uint64_t payload) {
    return Value{static_cast<uint64_t>(tag) << kTagShift | (payload & kPayloadMask)};
  }
  static constexpr Value ofInt(int64_t number) {
    return of(Tag::kInt, static_cast<uint64_t>(number));
  }
  static constexpr bool fitsInt(int64_t number) {
    return number >= -(int64_t{1} << 55) && number < (int64_t{1} << 55);
  }
  static constexpr Value ofString(Tag tag, Word word, uint64_t offset) {
    return of(tag, static_cast<uint64_t>(word) << kWordShift | (offset & kOffsetMask));
  }

  constexpr Tag tag() const { return static_cast<Tag>(bits >> kTagShift); }
  constexpr uint64_t payload() const { return bits & kPayloadMask; }
  constexpr uint32_t index() const { return static_cast<uint32_t>(bits); }
  constexpr int64_t integer() const { return static_cast<int64_t>(bits << 8) >> 8; }
  constexpr uint64_t offset() const { return bits & kOffsetMask; }
  // The word of a string; kOther for everything else.
  constexpr Word word() const {
    bool text = tag() == Tag::kString || tag() == Tag::kText;
    return text ? static_cast<Word>(static_cast<uint8_t>(bits >> kWordShift)) : Word::kOther;
  }
  constexpr bool isString() const { return tag() == Tag::kString || tag() == Tag::kText; }
  constexpr bool isSequence() const { return tag() == Tag::kList || tag() == Tag::kTuple; }
  // Events: the number of rows after the first.
  constexpr uint32_t moreRows() const {
    return tag() == Tag::kEvent ? static_cast<uint32_t>(payload() >> 32) : 0;
  }
  // Extends this run of rows by `next`, if that is the row or run right after it.
  constexpr bool join(Value next) {
    constexpr uint64_t kMaxRows = uint64_t{1} << 24;
    if (tag() != Tag::kEvent || next.tag() != Tag::kEvent) return false;
    uint64_t rows = uint64_t{moreRows()} + 1, next_rows = uint64_t{next.moreRows()} + 1;
    if (index() + rows != next.index() || rows + next_rows > kMaxRows) return false;
    bits += next_rows << 32;
    return true;
  }
  constexpr bool operator==(const Value&) const = default;
};

// A run of values at a fixed stride: stack entries are 16 bytes apart, tree items 8.
struct Items {
  const Value* first = nullptr;
  size_t count = 0;
  size_t stride_bytes = sizeof(Value);

  Value operator[](size_t i) const {
    Value value;
    std::memcpy(&value, reinterpret_cast<const char*>(first) + i * stride_bytes, sizeof value);
    return value;
  }
};

}  // namespace tidegauge::readers::torch
