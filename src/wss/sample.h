// Which pages a sampled measurement looks at, and what they say of all.
//
//   2 MiB │··▓▓·············│                 │···········▓▓····│   256 KiB somewhere in each 4th (1/32),
//         └─ table 0 ───────┴─ table 1 ───────┴─ table 2 …          128 in each 8th (1/128), 64 in each 16th (1/512)
//
// Every page has the same chance, so touched ÷ chance is right in the mean (Horvitz-Thompson). How wrong
// it may be is told by how much neighbours differ: sets that are touched are mostly contiguous, and then
// neighbours are alike (the successive-difference estimator for systematic samples: Wolter, Introduction
// to Variance Estimation, chapter 8). A page of 2 MiB is taken whole, or clearing a part would split it.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "wss/page_sums.h"

namespace tidegauge::wss {

// Pages in a row of each `every`th table; 16, 32 or 64.
struct SampleRate {
  uint32_t every = 1, pages = 32;
  uint32_t oneIn() const { return PAGE_TABLE_ENTRIES / pages * every; }  // 32: a page in 32
  page_table_part part() const {
    return pages == 16 ? PAGE_TABLE_16 : pages == 32 ? PAGE_TABLE_32 : PAGE_TABLE_64;
  }
};

// A part of one table.
struct SamplePart {
  uint64_t table = 0;  // its address
  uint32_t first = 0;  // pages in it
  uint32_t pages = 0;
};

struct Sample {
  size_t tables = 0;  // there are
  std::vector<SamplePart> parts;
};

// One part in each of those of `tables`, beginning anywhere.
Sample chooseSample(std::span<const uint64_t> tables, SampleRate rate, std::mt19937_64& random);

// The standard error of the sum of all, told from values that each stand for `every` tables, of which `most` is the
// largest possible. `chance`: of a page to be looked at. It is never told as less than half of what one
// value can stand for: a set as small as that lies between two parts, or all in one.
double standardErrorOf(std::span<const double> values, double most, uint32_t every, double chance);

}  // namespace tidegauge::wss
