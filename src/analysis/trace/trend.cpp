#include "analysis/trace/trend.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tidegauge::analysis {
namespace {

constexpr double kNormal95 = 1.6448536269514722;  // 95th percentile of the normal distribution

// Σ f(number of occurrences) over the distinct values.
template <class F>
double sumOverTies(std::span<const double> values, F&& f) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  double sum = 0;
  for (size_t i = 0; i < sorted.size();) {
    size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    sum += f(static_cast<double>(end - i));
    i = end;
  }
  return sum;
}

// Variance of S among independent values with the same ties.
double varianceOfS(std::span<const double> y) {
  auto term = [](double n) { return n * (n - 1) * (2 * n + 5); };
  return (term(static_cast<double>(y.size())) - sumOverTies(y, term)) / 18;
}

// Ranks from 0; equal values share the mean of their ranks.
std::vector<double> ranksOf(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (size_t k = i; k < end; ++k) ranks[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return ranks;
}

std::vector<double> thinned(std::span<const double> values) {
  if (values.size() <= kMaxSlopePoints) return {values.begin(), values.end()};
  std::vector<double> some;
  for (size_t i = 0; i < kMaxSlopePoints; ++i) {  // includes the first and the last
    some.push_back(values[i * (values.size() - 1) / (kMaxSlopePoints - 1)]);
  }
  return some;
}

double medianOf(std::vector<double>& values) {
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double nth(std::vector<double>& values, double index) {
  double last = static_cast<double>(values.size() - 1);
  auto at = values.begin() + static_cast<ptrdiff_t>(std::clamp(index, 0.0, last));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

double varianceInflation(std::span<const double> x, std::span<const double> y, double slope) {
  size_t n = std::min(x.size(), y.size());
  if (n < 3) return 1;
  std::vector<double> rest(n);
  for (size_t i = 0; i < n; ++i) rest[i] = y[i] - slope * x[i];
  std::vector<double> ranks = ranksOf(rest);
  double square = 0;
  for (double& rank : ranks) {
    rank -= static_cast<double>(n - 1) / 2;
    square += rank * rank;
  }
  if (square == 0) return 1;
  auto count = static_cast<double>(n);
  double sum = 0;
  for (size_t lag = 1; lag < n; ++lag) {
    double alike = 0;
    for (size_t i = lag; i < n; ++i) alike += ranks[i - lag] * ranks[i];
    if (alike <= 0) break;
    double left = count - static_cast<double>(lag);
    sum += left * (left - 1) * (left - 2) * alike / square;
  }
  return 1 + 2 * sum / (count * (count - 1) * (count - 2));
}

Slope theilSen(std::span<const double> all_x, std::span<const double> all_y,
               Neighbours neighbours) {
  size_t size = std::min(all_x.size(), all_y.size());
  std::vector<double> x = thinned(all_x.first(size));
  std::vector<double> y = thinned(all_y.first(size));
  std::vector<double> slopes;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t k = i + 1; k < x.size(); ++k) {
      if (x[k] > x[i]) slopes.push_back((y[k] - y[i]) / (x[k] - x[i]));
    }
  }
  Slope result;
  result.points = x.size();
  if (slopes.empty()) return result;
  result.slope = medianOf(slopes);
  double variance = std::max(0.0, varianceOfS(y));
  if (neighbours == Neighbours::kAlikeNeighbours) {
    variance *= varianceInflation(x, y, result.slope);
  }
  // The middle slopes up to this distance from the median include the true one in nine of ten
  // cases.
  double half_width = kNormal95 * std::sqrt(variance) / 2;
  double middle = static_cast<double>(slopes.size()) / 2;
  result.low = nth(slopes, std::round(middle - half_width) - 1);
  result.high = nth(slopes, std::round(middle + half_width));
  return result;
}

MannKendall mannKendall(std::span<const double> y) {
  MannKendall result;
  double variance = varianceOfS(y);
  if (variance <= 0) return result;
  // Inserts ranks into a tree of counts: how many earlier values are lower, and how many equal?
  std::vector<double> sorted(y.begin(), y.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<int64_t> tree(sorted.size() + 1, 0);
  auto countUpTo = [&](size_t rank) {  // values with ranks from 1 to this one
    int64_t count = 0;
    for (size_t i = rank; i > 0; i &= i - 1) count += tree[i];
    return count;
  };
  for (size_t i = 0; i < y.size(); ++i) {
    auto rank =
        static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), y[i]) - sorted.begin()) +
        1;
    int64_t lower = countUpTo(rank - 1);
    int64_t higher = static_cast<int64_t>(i) - countUpTo(rank);
    result.s += lower - higher;
    for (size_t k = rank; k < tree.size(); k += k & (~k + 1)) ++tree[k];
  }
  auto s = static_cast<double>(result.s);
  double corrected = s > 0 ? s - 1 : s < 0 ? s + 1 : 0;
  result.z = corrected / std::sqrt(variance);
  result.p = std::erfc(std::abs(result.z) / std::sqrt(2.0));
  return result;
}

}  // namespace tidegauge::analysis
