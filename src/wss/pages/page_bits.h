// What one page table (2 MiB of addresses) says page by page, in bits.
//
//   table 0x7f0000000000   there   0b…0111  touched 0b…0010 → of three pages the second was touched
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tidegauge::wss {

inline constexpr uint64_t kPage = 4096;

struct PageBits {
  static constexpr size_t kPages = 512;
  using Bits = std::array<uint64_t, kPages / 64>;

  uint64_t table = 0;  // where it begins
  Bits there{}, touched{};

  static bool at(const Bits& bits, size_t page) {
    return ((bits[page / 64] >> page % 64) & 1) != 0;
  }
};

}  // namespace tidegauge::wss
