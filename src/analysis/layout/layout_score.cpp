#include "analysis/layout/layout_score.h"

#include <algorithm>
#include <cmath>

namespace tidegauge::analysis {
namespace {

double sumOf(std::span<const uint64_t> values) {
  double sum = 0;
  for (uint64_t value : values) sum += static_cast<double>(value);
  return sum;
}

// The smallest power of two ≥ `value` > 0.
double nextPowerOfTwo(double value) {
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);  // value = mantissa · 2^exponent, mantissa ≥ 1/2
  return std::ldexp(1.0, mantissa == 0.5 ? exponent - 1 : exponent);
}

double unusableIndex(std::span<const uint64_t> gaps, double mean_bytes,
                     const LayoutOptions& options) {
  auto page = static_cast<double>(options.page_bytes);
  double target = mean_bytes > 0 ? std::max(2 * nextPowerOfTwo(mean_bytes), page) : page;
  double suitable = 0;
  double pages = 0;
  for (uint64_t gap : gaps) {
    suitable += std::floor(static_cast<double>(gap) / target);
    uint64_t touched = gap / options.page_bytes + (gap % options.page_bytes != 0);
    pages += static_cast<double>(touched);
  }
  double theoretical = pages / (target / page);
  if (theoretical <= 0) return 0;
  return std::pow(1 - std::min(1.0, suitable / theoretical), options.alpha);
}

}  // namespace

std::array<double, 6> featuresOf(const LayoutScore& score) {
  return {score.external,  score.unusable,   score.small,
          score.variation, score.large_gaps, score.utilisation};
}

LayoutScore layoutScore(std::span<const uint64_t> sizes, std::span<const uint64_t> gaps,
                        uint64_t span_bytes, const LayoutOptions& options) {
  LayoutScore result;
  if (span_bytes == 0) return result;
  auto span = static_cast<double>(span_bytes);
  double size_sum = sumOf(sizes);
  double gap_sum = sumOf(gaps);
  auto count = static_cast<double>(sizes.size());
  double mean = sizes.empty() ? 0 : size_sum / count;
  size_t small = 0;
  double squares = 0;
  for (uint64_t size : sizes) {
    small += size < options.small_bytes;
    double off = static_cast<double>(size) - mean;
    squares += off * off;
  }
  auto holes = static_cast<double>(
      std::count_if(gaps.begin(), gaps.end(), [](uint64_t gap) { return gap > 0; }));
  double large = 0;
  for (uint64_t gap : gaps) {
    auto bytes = static_cast<double>(gap);
    if (bytes * holes > 2 * gap_sum) large += bytes;
  }
  result.external = gap_sum / span;
  result.unusable = unusableIndex(gaps, mean, options);
  result.small = sizes.empty() ? 0 : static_cast<double>(small) / count;
  result.variation = mean > 0 ? std::sqrt(squares / count) / mean : 0;
  result.large_gaps = gap_sum > 0 ? large / gap_sum : 0;
  result.utilisation = size_sum / span;
  double pattern = 0.6 * result.small + 0.4 * std::min(1.0, result.variation);
  result.score = std::clamp(
      50 * result.external + 15 * result.unusable + 10 * pattern + 25 * result.large_gaps, 0.0,
      100.0);
  return result;
}

LayoutScore layoutScore(std::span<const LayoutRange> sorted, const LayoutOptions& options) {
  if (sorted.empty()) return {};
  std::vector<uint64_t> sizes;
  std::vector<uint64_t> gaps;
  uint64_t end = sorted.front().begin;
  for (const LayoutRange& range : sorted) {
    if (range.begin > end) gaps.push_back(range.begin - end);
    sizes.push_back(range.end - range.begin);
    end = std::max(end, range.end);
  }
  return layoutScore(sizes, gaps, end - sorted.front().begin, options);
}

ScoreBand bandOf(double score) {
  if (score >= 80) return ScoreBand::kSevere;
  if (score >= 60) return ScoreBand::kModerate;
  return score >= 40 ? ScoreBand::kLight : ScoreBand::kLow;
}

std::string_view name(ScoreBand band) {
  constexpr std::array<std::string_view, 4> kNames = {"low", "light", "moderate", "severe"};
  return kNames[static_cast<size_t>(band)];
}

}  // namespace tidegauge::analysis
