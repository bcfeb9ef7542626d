// Which pages a sampled measurement examines, and what they show about all.
//
//   2 MiB │·······│··▓▓···│·······│·······│·······│·······│·▓▓····│·······│   1/32: 256 KiB
//         └ any one of these four ────────┴ any one of these four ────────┘   in one of four
//   1/128: 64 in one of four;  1/512: 64 in one of 16
//
// Every page has the same chance, so touched ÷ chance is unbiased (Horvitz-Thompson). The table
// within each group is random for every sample: programs have regular layouts (stacks of 8 MiB,
// arenas of 64), and a fixed step would hit all of their touched tables or none. The differences
// between neighbours show the error: touched sets are mostly contiguous, and then neighbours are
// alike (the successive-difference estimator: Wolter, Introduction to Variance Estimation, chapter
// 8). A page of 2 MiB is included whole, since clearing a part would split it.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "wss/pte/table_runs.h"

namespace tidegauge::wss {

// Consecutive pages of one table among `every`; 16, 32 or 64.
struct SampleRate {
  uint32_t every = 1, pages = 32;
  uint32_t oneIn() const { return PAGE_TABLE_ENTRIES / pages * every; }  // 32: a page in 32
  page_table_part part() const {
    return pages == 16 ? PAGE_TABLE_16 : pages == 32 ? PAGE_TABLE_32 : PAGE_TABLE_64;
  }
};

// The supported rates: "1/32", "1/128", "1/512". Absent for another text, which means all pages. A
// part of a table costs as much again as its pages, so larger parts of fewer tables are cheaper.
// But the borders of a set are then less exact: 0.9 % of 500 MiB for one in four, 3.7 % for one in
// 16 (one standard error).
inline std::optional<SampleRate> rateOf(std::string_view sample) {
  if (sample == "1/32") return SampleRate{4, 64};
  if (sample == "1/128") return SampleRate{4, 16};
  if (sample == "1/512") return SampleRate{16, 16};
  return std::nullopt;
}

// A part of one table.
struct SamplePart {
  uint64_t table = 0;  // its address
  uint32_t first = 0;  // pages in it
  uint32_t pages = 0;
};

// In the order of addresses, at most one per table.
using Sample = std::vector<SamplePart>;

// One part of one table in each `rate.every` of `tables`, beginning anywhere.
Sample chooseSample(const TableRuns& tables, SampleRate rate, std::mt19937_64& random);

// Half of the 95 % confidence interval of the sum, from values that each stand for `every` tables;
// `most` is the largest possible value. `chance`: of a page to be examined. It is never less than
// 1.96 times half of what one value can stand for. If next to nothing was found, it is what can
// hide from such a sample: three times what one value can stand for (the sample would find that at
// 95 % confidence: 1 − e⁻³), and with fewer than two values as many and one more.
double halfIntervalOf(std::span<const double> values, double most, uint32_t every, double chance);

}  // namespace tidegauge::wss
