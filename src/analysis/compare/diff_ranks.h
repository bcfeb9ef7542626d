// Many recordings of one job side by side: totals by rank, their median, and the rank that stands
// out.
//
//   rank     live      against the median   unlike the median
//   0      33.7 GiB          0                    0             distance of a rank = its live bytes
//   1      33.7 GiB          0                    0             less the median rank's, stack by
//   2      36.1 GiB         +2.4 GiB             2.4 GiB        stack, without signs, added up
//
// A rank stands out if its distance is more than kDeviations robust standard deviations (1.4826
// times the median absolute deviation) above the median distance, and by more than kMinShare of the
// median total. If all ranks differ a little, none stands out. Of two ranks, neither does.
// Source: B. Iglewicz, D. Hoaglin, How to Detect and Handle Outliers, 1993 (3.5 as the cut).
// Cost: O(live of all ranks + rows · ranks).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/compare/diff.h"

namespace tidegauge::analysis {

struct RankRow {                         // one stack; its paths may differ between the ranks
  const AnalysedTrace* trace = nullptr;  // of the first rank that has it
  StackId stack{};                       // invalid: none recorded
  bool older = false;                    // … and older than the recording
  std::vector<Held> held;                // by rank
  uint64_t median_bytes = 0;
  uint64_t spread_bytes = 0;  // largest minus smallest
};

struct Rank {
  uint64_t distance_bytes = 0;
  // Distance above the median distance, in robust standard deviations; absent if those are 0.
  std::optional<double> deviations;
  bool stands_out = false;
};

struct RankTable {
  static constexpr double kDeviations = 3.5;
  static constexpr double kMinShare = 0.01;

  std::vector<Rank> ranks;           // as given
  std::vector<RankRow> rows;         // largest spread first
  uint64_t median_active_bytes = 0;  // of the totals
  uint64_t median_reserved_bytes = 0;
  uint64_t median_distance_bytes = 0;
  // The one with the largest distance, if it stands out.
  std::optional<size_t> oddOne() const;
};
RankTable ranksOf(const std::vector<DiffSide>& sides);

// With an even number of values: the lower of the two in the middle, so it is one of the values. 0
// if there are none.
uint64_t lowerMedian(std::vector<uint64_t> values);

}  // namespace tidegauge::analysis
