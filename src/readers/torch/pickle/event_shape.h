// EventShape: what is the same, byte for byte, in one event of a pickle after another. It is learnt
// from an event that was read already.
//
//   94 28 j action │ j alloc │ j addr │ 8a 06 … │ h size │ 4d 00 02 │ h stream 4b 00 j time │ 8a …
//   fixed            action    fixed    address   fixed    size       fixed                   time
//
// The stream, the pool, the compile context and metadata belong to the fixed bytes, since most
// neighbours have them in common: an event with other ones has another shape.
//
// Cost: 1.5 KB per shape.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "readers/torch/columns/columns.h"
#include "readers/torch/values/memo.h"

namespace tidegauge::readers::torch {

// A field of an event that was read: where its value is, and how large the memo was before it.
struct ScannedField {
  Word key;
  const uint8_t* begin;
  const uint8_t* end;
  uint64_t memo_before;
};

// Where an event that was read lies: from the byte after EMPTY_DICT to the byte after SETITEMS.
struct ScannedEvent {
  const uint8_t* begin;
  const uint8_t* end;
  uint64_t memo_before;
  uint64_t memo_after;
  std::span<const ScannedField> fields;
};

class EventShape {
 public:
  enum class Varies : uint8_t { kAction, kAddress, kSize, kTime, kStack, kNothing };

  // What the fixed bytes memoize: the same text or pair as in the event that was learnt, or the row
  // of this event.
  struct Memoized {
    Memo::Entry entry;
    bool plus_row;
  };

  static constexpr size_t kMaxFixed = 96;  // bytes
  static constexpr size_t kMaxMemoized = 8;

  // Fixed bytes and what follows them.
  struct Part {
    std::array<uint64_t, kMaxFixed / 8> fixed{};  // little-endian words
    uint64_t last_mask = 0;                       // of the last, incomplete word
    uint8_t words = 0;                            // complete ones
    uint8_t fixed_bytes = 0;
    uint8_t memoized_count = 0;
    Varies varies = Varies::kNothing;
    uint8_t likely_bytes = 8;  // of the LONG1 that follows, if it is one
    std::array<Memoized, kMaxMemoized> memoized{};

    // At least kMaxFixed bytes may be read at `at`.
    bool matches(const uint8_t* at) const;
  };

  // Absent where events like this one cannot be recognised by their bytes. `memo` holds what the
  // event memoized by MEMOIZE.
  static std::optional<EventShape> learn(const ScannedEvent& event, const EventRow& row,
                                         const Memo& memo);

  std::span<const Part> parts() const { return {parts_.data(), part_count_}; }
  const EventRow& common() const { return common_; }

 private:
  static constexpr size_t kMaxParts = 8;  // five values, and the end

  std::array<Part, kMaxParts> parts_;
  size_t part_count_ = 0;
  EventRow common_;
};

inline bool EventShape::Part::matches(const uint8_t* at) const {
  uint64_t word = 0;
  for (size_t i = 0; i < words; ++i) {
    std::memcpy(&word, at + 8 * i, sizeof word);
    if (word != fixed[i]) return false;
  }
  std::memcpy(&word, at + 8 * size_t{words}, sizeof word);
  return ((word ^ fixed[words]) & last_mask) == 0;
}

}  // namespace tidegauge::readers::torch
