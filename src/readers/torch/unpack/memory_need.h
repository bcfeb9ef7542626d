// How much memory reading a snapshot takes beside its own bytes, which are mapped: the kernel drops
// them where memory is short.
//
//                               events alone           with lives and indexes
//   1 GB, ten million events    0.48 GB (0.53 of it)   0.68 GB (0.75 of it)
//   1 GB, C++ stacks            0.38 GB (0.35 of it)   0.50 GB (0.46 of it)
//
// Source: docs/performance-tables.md, "Memory per event, by the size of the file".
#pragma once

#include <cstdint>

namespace tidegauge::readers::torch {

// An upper bound for what PyTorch writes. `lives`: allocations are joined, too.
constexpr uint64_t memoryNeedBytes(uint64_t input_bytes, bool lives) {
  return input_bytes / 5 * (lives ? 4 : 3);
}

// Worth a word before reading? Small files are read before anybody runs out of memory.
constexpr bool isShortOfMemory(uint64_t input_bytes, bool lives, uint64_t free_bytes) {
  constexpr uint64_t kSmall = uint64_t{64} << 20;
  return input_bytes >= kSmall && memoryNeedBytes(input_bytes, lives) > free_bytes;
}

}  // namespace tidegauge::readers::torch
