// Batch gradient descent on the mean squared error, as published: rate 0.01, at most 500 rounds,
// the gradient scaled down to a norm of 1, weights and bias held within ±10, the best weights kept,
// a stop after 20 rounds without improvement. It starts at zero.
#include <algorithm>
#include <cmath>

#include "analysis/forecast/forecast_inputs.h"

namespace tidegauge::analysis {
namespace {

constexpr double kRate = 0.01;
constexpr int kMaxRounds = 500;
constexpr double kLongestGradient = 1;
constexpr double kLargestWeight = 10;
constexpr int kPatience = 20;

// The windows in the layout of the rounds, four at a time. A value and a gradient are sums in a
// fixed order, so each addition waits for the one before. Four windows run in parallel, and the
// sums stay the same to the last bit.
class Windows {
 public:
  Windows(const std::vector<ForecastInput>& inputs, const std::vector<double>& targets)
      : targets_(targets), rows_((inputs.size() + 3) / 4 * 4, LinearModel{}) {
    for (size_t n = 0; n < inputs.size(); ++n) {
      std::copy(inputs[n].begin(), inputs[n].end(), rows_[n].begin());
      rows_[n][kForecastInputs] = 1;  // input of the bias
    }
  }

  // The mean squared error, and its gradient (without the factor 2, as published).
  double lossAndGradient(const LinearModel& model, LinearModel& gradient) const {
    LinearModel sum{};
    double loss = 0;
    for (size_t n = 0; n < rows_.size(); n += 4) {
      const LinearModel* row = &rows_[n];
      Four error = valuesOf(model, row);
      for (size_t w = 0; w < 4; ++w) {
        error[w] = n + w < targets_.size() ? error[w] - targets_[n + w] : 0;
        loss += error[w] * error[w];
      }
      for (size_t i = 0; i < sum.size(); ++i) {
        double with_two = sum[i] + error[0] * row[0][i] + error[1] * row[1][i];
        sum[i] = with_two + error[2] * row[2][i] + error[3] * row[3][i];
      }
    }
    auto count = static_cast<double>(targets_.size());
    for (size_t i = 0; i < sum.size(); ++i) gradient[i] = sum[i] / count;
    return loss / count;
  }

 private:
  using Four = std::array<double, 4>;

  static Four valuesOf(const LinearModel& model, const LinearModel* row) {
    double a = model[kForecastInputs];
    double b = a;
    double c = a;
    double d = a;
    for (size_t i = 0; i < kForecastInputs; ++i) {
      a += model[i] * row[0][i];
      b += model[i] * row[1][i];
      c += model[i] * row[2][i];
      d += model[i] * row[3][i];
    }
    return {a, b, c, d};
  }

  const std::vector<double>& targets_;
  std::vector<LinearModel> rows_;  // inputs and a 1; padded with zeros to a multiple of four
};

}  // namespace

LinearModel trainByDescent(const std::vector<ForecastInput>& inputs,
                           const std::vector<double>& targets) {
  return descendFrom({}, inputs, targets);
}

LinearModel descendFrom(const LinearModel& start, const std::vector<ForecastInput>& inputs,
                        const std::vector<double>& targets) {
  LinearModel model = start;
  LinearModel best = model;
  if (inputs.empty()) return best;
  Windows windows(inputs, targets);
  LinearModel gradient{};
  double best_loss = HUGE_VAL;
  int without_better = 0;
  for (int round = 0; round < kMaxRounds && without_better < kPatience; ++round) {
    double loss = windows.lossAndGradient(model, gradient);
    ++without_better;
    if (loss < best_loss) {
      best_loss = loss;
      best = model;
      without_better = 0;
    }
    double squares = 0;
    for (double g : gradient) squares += g * g;
    double norm = std::sqrt(squares);
    double scale = norm > kLongestGradient ? kLongestGradient / norm : 1;
    for (size_t i = 0; i < model.size(); ++i) {
      model[i] =
          std::clamp(model[i] - kRate * scale * gradient[i], -kLargestWeight, kLargestWeight);
    }
  }
  return best;
}

}  // namespace tidegauge::analysis
