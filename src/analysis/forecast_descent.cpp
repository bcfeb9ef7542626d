// Batch gradient descent on the mean squared error, as the published model describes it: rate 0.01,
// at most 500 rounds, the gradient scaled down to a norm of 1, weights and bias held within ±10,
// the best weights kept, an end after 20 rounds without better ones. It starts at zero.
#include <algorithm>
#include <cmath>

#include "analysis/forecast_inputs.h"

namespace tidegauge::analysis {
namespace {

constexpr double kRate = 0.01;
constexpr int kMostRounds = 500;
constexpr double kLongestGradient = 1;
constexpr double kLargestWeight = 10;
constexpr int kPatience = 20;

// The mean squared error, and its gradient (without the factor 2, as published).
double lossAndGradient(const LinearModel& model, const std::vector<ForecastInput>& inputs,
                       const std::vector<double>& targets, LinearModel& gradient) {
  gradient.fill(0);
  double loss = 0;
  for (size_t n = 0; n < inputs.size(); ++n) {
    double error = modelValue(model, inputs[n]) - targets[n];
    loss += error * error;
    for (size_t i = 0; i < kForecastInputs; ++i) gradient[i] += error * inputs[n][i];
    gradient[kForecastInputs] += error;
  }
  auto count = static_cast<double>(inputs.size());
  for (double& g : gradient) g /= count;
  return loss / count;
}

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
  LinearModel gradient{};
  double best_loss = HUGE_VAL;
  int without_better = 0;
  for (int round = 0; round < kMostRounds && without_better < kPatience; ++round) {
    double loss = lossAndGradient(model, inputs, targets, gradient);
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
