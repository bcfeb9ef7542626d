#include "analysis/forecast/forecast_model.h"

#include <algorithm>

#include "analysis/forecast/forecast_inputs.h"

namespace tidegauge::analysis {
namespace {

using Train = LinearModel (*)(const std::vector<ForecastInput>&, const std::vector<double>&);

Predicted byWindows(History history, Train train) {
  ForecastInputs inputs(history);
  ForecastInput last = inputs.last();
  Predicted predicted{};
  for (size_t k = 1; k <= kForecastHorizons; ++k) {
    LinearModel model = train(inputs.windows(k), inputs.targets(k));
    predicted[k - 1] = inputs.score().back(modelValue(model, last));
  }
  return predicted;
}

Predicted byDrift(History history) {
  double last = history.back().score;
  double per_sample =
      (last - history.front().score) / static_cast<double>(std::max<size_t>(history.size(), 2) - 1);
  Predicted predicted{};
  for (size_t k = 1; k <= kForecastHorizons; ++k) {
    predicted[k - 1] = last + per_sample * static_cast<double>(k);
  }
  return predicted;
}

Predicted anyPrediction(ForecastModel model, History history) {
  switch (model) {
    case ForecastModel::kWindow:
      return byWindows(history, trainByDescent);
    case ForecastModel::kRidge:
      return byWindows(history, solveRidge);
    case ForecastModel::kDrift:
      return byDrift(history);
    case ForecastModel::kPersistence:
      break;
  }
  Predicted as_now{};
  as_now.fill(history.back().score);
  return as_now;
}

}  // namespace

std::string_view name(ForecastModel model) {
  constexpr std::array<std::string_view, 4> kNames = {"window", "ridge", "drift", "persistence"};
  return kNames[static_cast<size_t>(model)];
}

Predicted predict(ForecastModel model, History history) {
  Predicted predicted = anyPrediction(model, history);
  for (double& score : predicted) score = std::clamp(score, 0.0, 100.0);
  return predicted;
}

}  // namespace tidegauge::analysis
