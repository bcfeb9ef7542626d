// The layout score one, two and three samples ahead, how far that can be trusted, and whether it is
// better than assuming no change.
//
//   scores   … 41 42 42 43 | 43 44 45      best by cross-validation: drift
//   skill    1 − error / error of "no change", per horizon: 0.31, 0.28, 0.25
//
// Cross-validation follows time: at each moment of the history, the models are trained on what came
// before and predict what came next. With fewer than 10 samples there is not enough data, and no
// forecast. Cost: 42 trainings of each model for a history of 50: some 30 ms. Formulas:
// docs/explain/forecast.md.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/forecast/forecast_model.h"

namespace tidegauge::analysis {

inline constexpr size_t kForecastLeast = kForecastWindow + kForecastHorizons + 2;

enum class Risk : uint8_t { kMinimal, kLow, kMedium, kHigh, kCritical };
Risk riskOf(double highest_score);  // from 30, 50, 70; above 80
std::string_view name(Risk risk);   // "minimal", …

struct Warnings {
  bool worse = false;  // a prediction > 5 above now, confidence > 0.6
  bool jump = false;   // one prediction is > 10 above the one before
  bool trend = false;  // slope steeper than 0.3 in either direction
  bool operator==(const Warnings&) const = default;
};
Warnings warningsOf(double score_now, const Predicted& predicted, double confidence, double slope);

// Errors of one model in cross-validation: means of absolute errors, in points of the score.
struct ForecastErrors {
  std::array<size_t, kForecastHorizons> count{};  // predictions that could be checked
  std::array<double, kForecastHorizons> mean{};   // 0 if there are none
  double overall = 0;                             // over all of them
};

struct ModelForecast {
  ForecastModel model = ForecastModel::kPersistence;
  Predicted predicted{};
  ForecastErrors errors;
  // 1 − mean / mean of persistence; absent if persistence has no error or nothing was checked.
  std::array<std::optional<double>, kForecastHorizons> skill{};
};

// At least 5 % less, and less in the last digit that sentences show.
bool clearlyBetter(double error, double error_of_no_change);

struct Forecast {
  bool enough = false;  // the history has kForecastLeast samples; if not, the rest is meaningless
  size_t history = 0;   // samples used
  double score_now = 0;
  std::array<ModelForecast, kForecastModels.size()> models{};  // as in kForecastModels
  // The least overall error; persistence unless another model is clearly better.
  ForecastModel best = ForecastModel::kPersistence;
  // The published model's, by its definitions.
  double confidence = 0.1;
  double slope = 0;  // of the last 20 scores, points per sample
  Risk risk = Risk::kMinimal;
  Warnings warnings;

  const ModelForecast& of(ForecastModel model) const { return models[static_cast<size_t>(model)]; }
  const Predicted& bestPredicted() const { return of(best).predicted; }
  bool beatsNoChange() const { return best != ForecastModel::kPersistence; }
  // Of the published model over all horizons: 1 − error / error of persistence. Absent if
  // persistence has no error.
  std::optional<double> publishedSkill() const;
  // If false, the published model's warnings, risk and confidence are not reported.
  bool publishedBeatsNoChange() const {
    return clearlyBetter(of(ForecastModel::kWindow).errors.overall,
                         of(ForecastModel::kPersistence).errors.overall);
  }
};

// Uses the last kForecastHistory samples.
Forecast forecast(History samples);

double slopeOf(History samples);  // least squares, points per sample; 0 below two samples

}  // namespace tidegauge::analysis
