// How much memory reading a snapshot takes beside its own bytes, which are mapped: the kernel drops
// them where memory is short.
//
//   1 GB, ten million events    0.68 GB (0.75 of the file), with lives and indexes
//   1 GB, C++ stacks            0.50 GB
//
// Source: docs/performance.md, "Per event, by the size of the file".
#pragma once

#include <cstdint>

namespace tidegauge::readers::torch {

// An upper bound for what PyTorch writes.
constexpr uint64_t memoryNeedBytes(uint64_t input_bytes) { return input_bytes / 5 * 4; }

// Worth a word before reading? Small files are read before anybody runs out of memory.
constexpr bool isShortOfMemory(uint64_t input_bytes, uint64_t free_bytes) {
  constexpr uint64_t kSmall = uint64_t{64} << 20;
  return input_bytes >= kSmall && memoryNeedBytes(input_bytes) > free_bytes;
}

}  // namespace tidegauge::readers::torch
