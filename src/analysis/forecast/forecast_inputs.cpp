#include "analysis/forecast/forecast_inputs.h"

#include <algorithm>
#include <cmath>

namespace tidegauge::analysis {
namespace {

std::array<double, 7> valuesOf(const ForecastSample& sample) {
  std::array<double, 7> values{};
  std::copy(sample.features.begin(), sample.features.end(), values.begin());
  values.back() = sample.score;
  return values;
}

Scale scaleOf(History history, size_t column) {
  double least = valuesOf(history[0])[column];
  double most = least;
  double sum = 0;
  for (const ForecastSample& sample : history) {
    double value = valuesOf(sample)[column];
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
  }
  // The mean of equal values is that value; a sum divided again may miss it by a rounding error.
  if (least == most) return {least, 0};
  auto count = static_cast<double>(history.size());
  double mean = sum / count;
  double squares = 0;
  for (const ForecastSample& sample : history) {
    double off = valuesOf(sample)[column] - mean;
    squares += off * off;
  }
  return {mean, std::sqrt(squares / count)};
}

}  // namespace

ForecastInputs::ForecastInputs(History history) {
  for (size_t column = 0; column < scales_.size(); ++column) {
    scales_[column] = scaleOf(history, column);
  }
  for (const ForecastSample& sample : history) {
    std::array<double, 7> row = valuesOf(sample);
    for (size_t column = 0; column < row.size(); ++column) {
      row[column] = scales_[column].to(row[column]);
    }
    rows_.push_back(row);
  }
}

ForecastInput ForecastInputs::windowAt(size_t end) const {
  ForecastInput input{};
  size_t at = 0;
  for (size_t t = end + 1 - kForecastWindow; t <= end; ++t) {
    for (size_t feature = 0; feature < 6; ++feature) input[at++] = rows_[t][feature];
  }
  for (size_t t = end + 1 - kForecastWindow; t <= end; ++t) input[at++] = rows_[t][6];
  return input;
}

std::vector<ForecastInput> ForecastInputs::windows(size_t horizon) const {
  std::vector<ForecastInput> windows;
  for (size_t end = kForecastWindow - 1; end + horizon < rows_.size(); ++end) {
    windows.push_back(windowAt(end));
  }
  return windows;
}

std::vector<double> ForecastInputs::targets(size_t horizon) const {
  std::vector<double> targets;
  for (size_t end = kForecastWindow - 1; end + horizon < rows_.size(); ++end) {
    targets.push_back(rows_[end + horizon][6]);
  }
  return targets;
}

double modelValue(const LinearModel& model, const ForecastInput& input) {
  double sum = model[kForecastInputs];
  for (size_t i = 0; i < kForecastInputs; ++i) sum += model[i] * input[i];
  return sum;
}

}  // namespace tidegauge::analysis
