// Ridge regression in closed form on centred inputs: (AᵀA + λ·1) w = Aᵀb by Cholesky, the bias from
// the means and without penalty. With λ = 1 and z-scored inputs the matrix is well conditioned for
// any history, and a window that is mostly noise gets small weights.
#include <cmath>

#include "analysis/forecast/forecast_inputs.h"

namespace tidegauge::analysis {
namespace {

constexpr double kPenalty = 1;
constexpr size_t kSize = kForecastInputs;
using Matrix = std::array<std::array<double, kSize>, kSize>;
using Vector = std::array<double, kSize>;

// matrix = L·Lᵀ, symmetric and positive definite; L replaces its lower half.
void decompose(Matrix& matrix) {
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = matrix[i][j];
      for (size_t k = 0; k < j; ++k) sum -= matrix[i][k] * matrix[j][k];
      matrix[i][j] = i == j ? std::sqrt(sum) : sum / matrix[j][j];
    }
  }
}

// Solves L·Lᵀ·x = b in place.
void solve(const Matrix& lower, Vector& b) {
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= lower[i][k] * b[k];
    b[i] /= lower[i][i];
  }
  for (size_t i = kSize; i-- > 0;) {
    for (size_t k = i + 1; k < kSize; ++k) b[i] -= lower[k][i] * b[k];
    b[i] /= lower[i][i];
  }
}

}  // namespace

LinearModel solveRidge(const std::vector<ForecastInput>& inputs,
                       const std::vector<double>& targets) {
  LinearModel model{};
  if (inputs.empty()) return model;
  auto count = static_cast<double>(inputs.size());
  Vector mean{};
  double target_mean = 0;
  for (size_t n = 0; n < inputs.size(); ++n) {
    for (size_t i = 0; i < kSize; ++i) mean[i] += inputs[n][i] / count;
    target_mean += targets[n] / count;
  }
  Matrix matrix{};
  Vector weights{};
  for (size_t n = 0; n < inputs.size(); ++n) {
    for (size_t i = 0; i < kSize; ++i) {
      double centred = inputs[n][i] - mean[i];
      for (size_t j = 0; j <= i; ++j) matrix[i][j] += centred * (inputs[n][j] - mean[j]);
      weights[i] += centred * (targets[n] - target_mean);
    }
  }
  for (size_t i = 0; i < kSize; ++i) matrix[i][i] += kPenalty;
  decompose(matrix);
  solve(matrix, weights);
  model[kSize] = target_mean;
  for (size_t i = 0; i < kSize; ++i) {
    model[i] = weights[i];
    model[kSize] -= weights[i] * mean[i];
  }
  return model;
}

}  // namespace tidegauge::analysis
