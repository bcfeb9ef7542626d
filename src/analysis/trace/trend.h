// Does a series rise, and how fast? Two tests without assumptions about the shape of the noise.
//
//   y  1 2 4 3 5     slopes of all pairs: 1 1.5 0.67 1 2 0.5 1 −1 0.5 2
//                    Theil–Sen  = their median, 1
//                    Mann–Kendall S = pairs that rise − pairs that fall = 9 − 1 = 8
//
// Slopes: H. Theil 1950, P. K. Sen 1968. S with its variance corrected for ties and a continuity
// correction: H. B. Mann 1945, M. G. Kendall 1975. The interval of the slope comes from the same
// variance (Sen 1968).
// The memory of a program is a sawtooth: neighbours are alike, and half a tooth more would look
// like a trend if they counted as independent. kAlikeNeighbours widens the interval by how long the
// ranks around the slope stay alike (their autocorrelation up to its first zero; the sum is that of
// K. H. Hamed and A. R. Rao 1998).
// Cost: theilSen n²/2 slopes for n ≤ kMaxSlopePoints, more points are thinned out evenly;
// mannKendall O(n log n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tidegauge::analysis {

inline constexpr size_t kMaxSlopePoints = 1024;

enum class Neighbours : uint8_t { kIndependent, kAlikeNeighbours };

struct Slope {
  double slope = 0;  // y per x
  double low = 0;    // 90 % interval
  double high = 0;
  size_t points = 0;  // points used; with fewer than two everything is 0

  bool rises() const { return low > 0; }
};
// x ascends; pairs with equal x do not count. Values must be finite.
Slope theilSen(std::span<const double> x, std::span<const double> y,
               Neighbours neighbours = Neighbours::kIndependent);

struct MannKendall {
  int64_t s = 0;
  double z = 0;
  double p = 1;  // two-sided; 1 for a constant series
};
MannKendall mannKendall(std::span<const double> y);

// The factor by which the variance of S exceeds that of independent values: at least 1.
double varianceInflation(std::span<const double> x, std::span<const double> y, double slope);

}  // namespace tidegauge::analysis
