#include "wss/sample/sample.h"

#include <algorithm>
#include <cmath>

namespace tidegauge::wss {

Sample chooseSample(const TableRuns& tables, SampleRate rate, std::mt19937_64& random) {
  Sample sample;
  size_t count = tables.count();
  sample.reserve(count / rate.every + 1);
  uint32_t places = PAGE_TABLE_ENTRIES / rate.pages;
  for (size_t few = 0; few < count; few += rate.every) {
    size_t table = few + random() % rate.every;
    auto place = static_cast<uint32_t>(random() % places);
    if (table < count)  // the last group may have fewer tables: each has the same chance
      sample.push_back({tables.at(table), place * rate.pages, rate.pages});
  }
  return sample;
}

double halfIntervalOf(std::span<const double> values, double most, uint32_t every, double chance) {
  constexpr double kNormal = 1.96, kHidden = 3;
  constexpr ptrdiff_t kFew = 3;  // from this number on, their differences are more reliable
  auto count = static_cast<double>(values.size());
  // The borders of a set, and of everything, may be anywhere among the tables that a value stands
  // for.
  double least = kNormal * every * most / 2, differences = 0;
  if (std::ranges::count_if(values, [](double value) { return value > 0; }) <= kFew)
    least = every * most * std::min(kHidden, count + 1);
  if (values.size() < 2) return least;
  for (size_t i = 1; i < values.size(); ++i)
    differences += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
  double of_one = differences / (2 * (count - 1));
  return std::max(least, kNormal * every * std::sqrt((1 - chance) * count * of_one));
}

}  // namespace tidegauge::wss
