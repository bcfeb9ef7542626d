// Four ways to forecast a score from its past, with one interface.
//
//   history   (x₁…x₆, y) (x₁…x₆, y) … (x₁…x₆, y)        oldest first; x = features, y = score
//                                └──── window of 5 ────┘ → y one, two and three samples later
//
//   window       the published model: one linear model per horizon over the features and scores of
//                the window (7 · 5 inputs, z-scored), trained by batch gradient descent
//   ridge        the same inputs, solved in closed form with a ridge penalty
//   drift        the line from the first score to the last, continued
//   persistence  no change
//
// Means and deviations are those of the given history, so a forecast never uses later samples. If
// all scores of a history are equal, the forecast is exactly that score, whatever the features are.
// Cost: window: at most 500 passes over 45 windows of 35 inputs per horizon.
// Source: docs/explain/forecast.md.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace tidegauge::analysis {

inline constexpr size_t kForecastHistory = 50;  // samples; older ones are not used
inline constexpr size_t kForecastWindow = 5;    // W
inline constexpr size_t kForecastHorizons = 3;  // S

struct ForecastSample {
  std::array<double, 6> features{};
  double score = 0;
};
using History = std::span<const ForecastSample>;

enum class ForecastModel : uint8_t { kWindow, kRidge, kDrift, kPersistence };
inline constexpr std::array<ForecastModel, 4> kForecastModels = {
    ForecastModel::kWindow, ForecastModel::kRidge, ForecastModel::kDrift,
    ForecastModel::kPersistence};
std::string_view name(ForecastModel model);  // "window", "ridge", "drift", "persistence"

using Predicted = std::array<double, kForecastHorizons>;  // 0 … 100

// `history` has at least kForecastWindow + kForecastHorizons samples: a window for each horizon.
Predicted predict(ForecastModel model, History history);

}  // namespace tidegauge::analysis
