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

double standardErrorOf(std::span<const double> values, double most, uint32_t every, double chance) {
  double least = every * most / 2, differences = 0;
  if (values.size() < 2) return least;
  for (size_t i = 1; i < values.size(); ++i)
    differences += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
  auto count = static_cast<double>(values.size());
  double of_one = differences / (2 * (count - 1));
  return std::max(least, every * std::sqrt((1 - chance) * count * of_one));
}

}  // namespace tidegauge::wss
