// When each page was touched last, over consecutive windows.
//
//   window      1  2  3  4  5          after window 5:
//   page a      x  x  x  x  x            a: in this window     again after 1
//   page b      x  .  .  .  x            b: in this window     again after 4
//   page c      .  x  .  .  .            c: within 4
//   page d      .  .  .  .  .            d: never
//
// The memory touched within the last n windows is a working set of n windows, for every n at once:
// from one series of measurements, without clearing for each. The number of windows until a page is
// touched again shows what a cache of that age keeps. Cost: a byte per page, 3 ns per page and
// window.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "wss/pages/page_bits.h"

namespace tidegauge::wss {

// One window in relation to earlier ones. In bytes.
struct Rolling {
  // [k]: again after 2^(k−1)+1 to 2^k windows: 1, 2, 3 to 4, 5 to 8 … 65 to 128; the last: after
  // more.
  static constexpr size_t kBins = 9;

  struct Within {
    uint32_t windows = 0;
    uint64_t bytes = 0;
    bool is_at_least = false;  // of one of these windows, what was touched is a lower bound
  };
  std::vector<Within> within;  // of 1, 2, 4 … windows
  uint64_t never = 0;          // resident, and not touched since the beginning
  uint64_t first = 0;          // touched in this window for the first time since it appeared
  std::array<uint64_t, kBins> again{};
};

class PageHistory {
 public:
  static constexpr uint32_t kMaxWindows = 128;  // that are distinguished
  // `windows`: the range of Rolling::within, at most kMaxWindows.
  explicit PageHistory(uint32_t windows) : windows_(windows) {}

  // Adds the next window; tables in the order of addresses, each once. Missing tables are
  // forgotten.
  Rolling add(std::span<const PageBits> tables);

 private:
  // Per page: 0 never; else windows since it was touched, this one being 1, at most 255.
  struct Ages {
    uint64_t table = 0;
    std::array<uint8_t, PageBits::kPages> of{};
  };
  uint32_t windows_;
  std::vector<Ages> ages_;
};

}  // namespace tidegauge::wss
