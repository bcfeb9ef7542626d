// Small steps of the scanners: integers, references to the memo, and new entries of it, read
// directly from the bytes of a pickle. The caller knows that kLookAhead bytes may be read.
//
//   8a 06 00 c0 1c 02 70 00   LONG1 of six bytes        6a 5d 02 00 00   slot 605 of the memo
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "readers/torch/values/memo.h"
#include "readers/torch/values/opcodes.h"

namespace tidegauge::readers::torch {

// More bytes than the longest of: a key, an integer, a reference, three opcodes.
inline constexpr ptrdiff_t kLookAhead = 32;

template <class T>
inline T loadAt(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// The slot of a BINGET or LONG_BINGET. False if there is none.
[[gnu::always_inline]] inline bool takeSlot(const uint8_t*& at, uint64_t& slot) {
  static_assert((opcode::kBinGet ^ opcode::kLongBinGet) == 2);
  if ((*at & ~2) != opcode::kBinGet) return false;
  // Branches, which the processor predicts: then it need not wait for these bytes before it looks
  // at those that follow.
  if (*at == opcode::kLongBinGet) {
    slot = loadAt<uint32_t>(at + 1);
    at += 5;
  } else {
    slot = at[1];
    at += 2;
  }
  return true;
}

// False if no opcode of the memo is here.
[[gnu::always_inline]] inline bool skipMemo(const uint8_t*& at) {
  size_t bytes = *at == opcode::kMemoize      ? 1
                 : *at == opcode::kBinPut     ? 2
                 : *at == opcode::kLongBinPut ? 5
                                              : 0;
  at += bytes;
  return bytes > 0;
}

// MEMOIZE, or BINPUT of the next free slot, if present. False for another slot.
[[gnu::always_inline]] inline bool takeMemo(const uint8_t*& at, Memo& memo, Value value) {
  if (*at == opcode::kMemoize) {
    at += 1;
  } else if (*at == opcode::kBinPut) {
    if (at[1] != memo.size()) return false;
    at += 2;
  } else if (*at == opcode::kLongBinPut) {
    if (loadAt<uint32_t>(at + 1) != memo.size()) return false;
    at += 5;
  } else {
    return true;
  }
  memo.push(value);
  return true;
}

// An integer of at most eight bytes. Without branches but one: how long the numbers of neighbours
// are cannot be predicted.
[[gnu::always_inline]] inline bool takeInteger(const uint8_t*& at, int64_t& number) {
  uint8_t code = *at;
  bool counted = code == opcode::kLong1;
  unsigned bytes = counted                    ? at[1]
                   : code == opcode::kBinInt1 ? 1
                   : code == opcode::kBinInt2 ? 2
                                              : 4;
  bool plain = code == opcode::kBinInt || code == opcode::kBinInt1 || code == opcode::kBinInt2;
  bool known = counted || plain;
  if (!known || bytes - 1 >= 8) return false;
  unsigned unused_bits = 64 - 8 * bytes;
  uint64_t top = loadAt<uint64_t>(at + 1 + counted) << unused_bits;
  bool is_signed = counted || code == opcode::kBinInt;
  int64_t with_sign = static_cast<int64_t>(top) >> unused_bits;
  number = is_signed ? with_sign : static_cast<int64_t>(top >> unused_bits);
  at += 1 + counted + bytes;
  return true;
}

// A LONG1 that has `likely_bytes`, as all addresses and times of a file do; or any integer. The
// length is predicted, and not computed from the bytes.
[[gnu::always_inline]] inline bool takeLikelyInteger(const uint8_t*& at, unsigned likely_bytes,
                                                     int64_t& number) {
  if (at[0] != opcode::kLong1 || at[1] != likely_bytes) return takeInteger(at, number);
  unsigned unused_bits = 64 - 8 * likely_bytes;
  number = static_cast<int64_t>(loadAt<uint64_t>(at + 2) << unused_bits) >> unused_bits;
  at += 2 + likely_bytes;
  return true;
}

}  // namespace tidegauge::readers::torch
