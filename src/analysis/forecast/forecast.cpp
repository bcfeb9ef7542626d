#include "analysis/forecast/forecast.h"

#include <algorithm>
#include <cmath>

namespace tidegauge::analysis {
namespace {

constexpr size_t kSlopeSamples = 20;

ForecastErrors crossValidate(ForecastModel model, History history) {
  ForecastErrors errors;
  double total = 0;
  size_t checked = 0;
  for (size_t known = kForecastWindow + kForecastHorizons; known < history.size(); ++known) {
    Predicted predicted = predict(model, history.first(known));
    for (size_t k = 0; k < kForecastHorizons && known + k < history.size(); ++k) {
      double error = std::abs(predicted[k] - history[known + k].score);
      errors.count[k]++;
      errors.mean[k] += error;
      total += error;
      checked++;
    }
  }
  for (size_t k = 0; k < kForecastHorizons; ++k) {
    if (errors.count[k] > 0) errors.mean[k] /= static_cast<double>(errors.count[k]);
  }
  if (checked > 0) errors.overall = total / static_cast<double>(checked);
  return errors;
}

}  // namespace

double slopeOf(History samples) {
  auto n = static_cast<double>(samples.size());
  double sum_x = 0;
  double sum_y = 0;
  double sum_xy = 0;
  double sum_xx = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    auto x = static_cast<double>(i);
    // Relative to the first score, so that equal scores have a slope of exactly 0.
    double y = samples[i].score - samples[0].score;
    sum_x += x;
    sum_y += y;
    sum_xy += x * y;
    sum_xx += x * x;
  }
  double spread = n * sum_xx - sum_x * sum_x;
  return spread > 0 ? (n * sum_xy - sum_x * sum_y) / spread : 0;
}

Risk riskOf(double highest_score) {
  if (highest_score > 80) return Risk::kCritical;
  if (highest_score >= 70) return Risk::kHigh;
  if (highest_score >= 50) return Risk::kMedium;
  return highest_score >= 30 ? Risk::kLow : Risk::kMinimal;
}

std::string_view name(Risk risk) {
  constexpr std::array<std::string_view, 5> kNames = {"minimal", "low", "medium", "high",
                                                      "critical"};
  return kNames[static_cast<size_t>(risk)];
}

Warnings warningsOf(double score_now, const Predicted& predicted, double confidence, double slope) {
  Warnings warnings;
  for (size_t k = 0; k < predicted.size(); ++k) {
    if (predicted[k] - score_now > 5 && confidence > 0.6) warnings.worse = true;
    if (k > 0 && predicted[k] - predicted[k - 1] > 10) warnings.jump = true;
  }
  warnings.trend = std::abs(slope) > 0.3;
  return warnings;
}

bool clearlyBetter(double error, double error_of_no_change) {
  return error <= 0.95 * error_of_no_change &&
         std::round(10 * error) < std::round(10 * error_of_no_change);
}

std::optional<double> Forecast::publishedSkill() const {
  double as_now = of(ForecastModel::kPersistence).errors.overall;
  if (as_now <= 0) return std::nullopt;
  return 1 - of(ForecastModel::kWindow).errors.overall / as_now;
}

Forecast forecast(History samples) {
  History history = samples.last(std::min(samples.size(), kForecastHistory));
  Forecast result;
  result.history = history.size();
  if (!history.empty()) result.score_now = history.back().score;
  if (history.size() < kForecastLeast) return result;
  result.enough = true;
  for (ForecastModel model : kForecastModels) {
    ModelForecast& of_model = result.models[static_cast<size_t>(model)];
    of_model.model = model;
    of_model.predicted = predict(model, history);
    of_model.errors = crossValidate(model, history);
  }
  const ForecastErrors& as_now = result.of(ForecastModel::kPersistence).errors;
  double least = HUGE_VAL;
  for (ModelForecast& of_model : result.models) {
    for (size_t k = 0; k < kForecastHorizons; ++k) {
      if (as_now.count[k] > 0 && as_now.mean[k] > 0) {
        of_model.skill[k] = 1 - of_model.errors.mean[k] / as_now.mean[k];
      }
    }
    if (of_model.errors.overall < least && clearlyBetter(of_model.errors.overall, as_now.overall)) {
      least = of_model.errors.overall;
      result.best = of_model.model;
    }
  }
  const ModelForecast& window = result.of(ForecastModel::kWindow);
  result.confidence = std::max(0.1, 1 - window.errors.overall / 50);
  result.slope = slopeOf(history.last(std::min(history.size(), kSlopeSamples)));
  result.risk = riskOf(*std::max_element(window.predicted.begin(), window.predicted.end()));
  result.warnings = warningsOf(result.score_now, window.predicted, result.confidence, result.slope);
  return result;
}

}  // namespace tidegauge::analysis
