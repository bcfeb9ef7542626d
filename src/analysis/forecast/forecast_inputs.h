// Windows of a history as the inputs of linear models: z-scored, one row per window.
//
//   row t:  [ z(x₁…x₆) of t−4 … t,  z(y) of t−4 … t ]   → target z(y) of t+k
#pragma once

#include <array>
#include <vector>

#include "analysis/forecast/forecast_model.h"

namespace tidegauge::analysis {

inline constexpr size_t kForecastInputs = 7 * kForecastWindow;
using ForecastInput = std::array<double, kForecastInputs>;

// z = (value − mean) / deviation. If all values are equal: 0, and back exactly to that value.
struct Scale {
  double mean = 0;
  double deviation = 0;
  double to(double value) const { return deviation > 0 ? (value - mean) / deviation : 0; }
  double back(double z) const { return mean + deviation * z; }
};

class ForecastInputs {
 public:
  explicit ForecastInputs(History history);

  const Scale& score() const { return scales_.back(); }
  // The windows that have a sample `horizon` later, oldest first, and that sample's scaled score.
  std::vector<ForecastInput> windows(size_t horizon) const;
  std::vector<double> targets(size_t horizon) const;
  ForecastInput last() const { return windowAt(rows_.size() - 1); }

 private:
  ForecastInput windowAt(size_t end) const;

  std::array<Scale, 7> scales_;
  std::vector<std::array<double, 7>> rows_;  // scaled
};

// Weights by input, then the bias.
using LinearModel = std::array<double, kForecastInputs + 1>;
double modelValue(const LinearModel& model, const ForecastInput& input);

// The published model begins at zero.
LinearModel trainByDescent(const std::vector<ForecastInput>& inputs,
                           const std::vector<double>& targets);
LinearModel descendFrom(const LinearModel& start, const std::vector<ForecastInput>& inputs,
                        const std::vector<double>& targets);
LinearModel solveRidge(const std::vector<ForecastInput>& inputs,
                       const std::vector<double>& targets);

}  // namespace tidegauge::analysis
