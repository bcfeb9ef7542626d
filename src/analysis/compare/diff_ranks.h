// Many recordings of one job side by side: the ranks' totals, their median, and the odd one out.
//
//   rank     live      against the median   unlike the median
//   0      33.7 GiB          0                    0             distance of a rank = its live bytes
//   1      33.7 GiB          0                    0             less the median rank's, stack by
//   2      36.1 GiB         +2.4 GiB             2.4 GiB        stack, without signs, added up
//
// A rank stands out if its distance is more than kDeviations robust standard deviations (1.4826
// times the median absolute deviation) above the median distance, and by more than kLeastShare of
// the median total: where all differ a bit, none stands out. Two ranks have no odd one.
// Source: B. Iglewicz, D. Hoaglin, How to Detect and Handle Outliers, 1993 (3.5 as the cut).
// Cost: O(live of all ranks + rows · ranks).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/compare/diff.h"

namespace tidegauge::analysis {

struct RankRow {                         // one stack; paths may differ between the ranks
  const AnalysedTrace* trace = nullptr;  // of the first rank that has it
  StackId stack{};                       // invalid: none recorded
  bool older = false;                    // … and older than the recording
  std::vector<Held> held;                // by rank
  uint64_t median_bytes = 0;
  uint64_t spread_bytes = 0;  // largest less smallest
};

struct Rank {
  uint64_t distance_bytes = 0;
  // Above the median distance, in robust standard deviations; absent if these are 0.
  std::optional<double> deviations;
  bool stands_out = false;
};

struct RankTable {
  static constexpr double kDeviations = 3.5;
  static constexpr double kLeastShare = 0.01;

  std::vector<Rank> ranks;           // as given
  std::vector<RankRow> rows;         // largest spread first
  uint64_t median_active_bytes = 0;  // of the totals
  uint64_t median_reserved_bytes = 0;
  uint64_t median_distance_bytes = 0;
  // The one with the largest distance, if it stands out.
  std::optional<size_t> oddOne() const;
};
RankTable ranksOf(const std::vector<DiffSide>& sides);

// Of an even number: the lower of the two in the middle, which is one of them. 0 of none.
uint64_t lowerMedian(std::vector<uint64_t> values);

}  // namespace tidegauge::analysis
