// What the layout score will be one, two and three samples on, how far that can be trusted, and
// whether it is better than saying "as now".
//
//   scores   … 41 42 42 43 | 43 44 45      best by cross-validation: drift
//   skill    1 − error / error of "as now", per horizon: 0.31, 0.28, 0.25
//
// Cross-validation goes through time: for each moment of the history the models are trained on what
// came before and foretell what came next. Fewer than 10 samples: not enough data, and nothing
// else. Cost: 42 trainings of each model for a history of 50: some 30 ms. Formulas:
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
Risk riskOf(double highest_score);  // from 30, 50, 70, 80
std::string_view name(Risk risk);   // "minimal", …

struct Warnings {
  bool worse = false;  // a prediction > 5 above now, confidence > 0.6
  bool jump = false;   // from one prediction to the next > 10 up
  bool trend = false;  // slope above 0.3 either way
  bool operator==(const Warnings&) const = default;
};
Warnings warningsOf(double score_now, const Predicted& predicted, double confidence, double slope);

// Of one model by cross-validation. Means of absolute errors, in points of the score.
struct ForecastErrors {
  std::array<size_t, kForecastHorizons> count{};  // predictions that could be checked
  std::array<double, kForecastHorizons> mean{};   // 0 if there are none
  double overall = 0;                             // over all of them
};

struct ModelForecast {
  ForecastModel model = ForecastModel::kPersistence;
  Predicted predicted{};
  ForecastErrors errors;
  // 1 − mean / persistence's mean; absent where persistence has no error or nothing was checked.
  std::array<std::optional<double>, kForecastHorizons> skill{};
};

// At least 5 % less, and less by the digit that sentences show.
bool clearlyBetter(double error, double error_of_no_change);

struct Forecast {
  bool enough = false;  // the history has kForecastLeast samples; else the rest means nothing
  size_t history = 0;   // samples used
  double score_now = 0;
  std::array<ModelForecast, kForecastModels.size()> models{};  // as in kForecastModels
  // Least overall error; persistence unless another is clearly better.
  ForecastModel best = ForecastModel::kPersistence;
  // Of the published model, as it defines them.
  double confidence = 0.1;
  double slope = 0;  // of the last 20 scores, points per sample
  Risk risk = Risk::kMinimal;
  Warnings warnings;

  const ModelForecast& of(ForecastModel model) const { return models[static_cast<size_t>(model)]; }
  bool beatsNoChange() const { return best != ForecastModel::kPersistence; }
  // Of the published model: else its warnings, risk and confidence are worth no sentence.
  bool publishedBeatsNoChange() const {
    return clearlyBetter(of(ForecastModel::kWindow).errors.overall,
                         of(ForecastModel::kPersistence).errors.overall);
  }
};

// Of the last kForecastHistory samples.
Forecast forecast(History samples);

double slopeOf(History samples);  // least squares, points per sample; 0 below two samples

}  // namespace tidegauge::analysis
