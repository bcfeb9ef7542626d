#include "wss/sample.h"

#include <algorithm>
#include <cmath>

namespace tidegauge::wss {

Sample chooseSample(std::span<const uint64_t> tables, SampleRate rate, std::mt19937_64& random) {
  Sample sample{tables.size(), {}};
  sample.parts.reserve(tables.size() / rate.every + 1);
  uint32_t places = PAGE_TABLE_ENTRIES / rate.pages;
  for (size_t i = random() % rate.every; i < tables.size(); i += rate.every)
    sample.parts.push_back(
        {tables[i], static_cast<uint32_t>(random() % places) * rate.pages, rate.pages});
  return sample;
}

Estimate estimateOf(std::span<const double> values, double most, uint32_t every, double chance) {
  double sum = 0, differences = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    if (i > 0) differences += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
  }
  Estimate estimate{sum * every, every * most / 2};
  if (values.size() < 2) return estimate;
  auto count = static_cast<double>(values.size());
  double of_one = differences / (2 * (count - 1));
  estimate.standard_error =
      std::max(estimate.standard_error, every * std::sqrt((1 - chance) * count * of_one));
  return estimate;
}

}  // namespace tidegauge::wss
