#include "analysis/forecast/forecast.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <numbers>
#include <random>
#include <sstream>
#include <string>

#include "analysis/forecast/forecast_inputs.h"

namespace tidegauge::analysis {
namespace {

// Features as a heap of that score could have them.
ForecastSample sampleOf(double score) {
  return {{score / 100, 0.5, 0.25, score / 200, 0.1, 1 - score / 100}, score};
}

std::vector<ForecastSample> seriesOf(size_t samples, const std::function<double(size_t)>& score) {
  std::vector<ForecastSample> series;
  for (size_t t = 0; t < samples; ++t) series.push_back(sampleOf(score(t)));
  return series;
}

std::vector<ForecastSample> constant() {
  return seriesOf(50, [](size_t) { return 40.0; });
}
std::vector<ForecastSample> ramp() {
  return seriesOf(50, [](size_t t) { return 20 + 0.5 * static_cast<double>(t); });
}
std::vector<ForecastSample> sine() {
  return seriesOf(50, [](size_t t) {
    return 50 + 20 * std::sin(2 * std::numbers::pi * static_cast<double>(t) / 12);
  });
}
std::vector<ForecastSample> step() {
  return seriesOf(50, [](size_t t) { return t < 25 ? 30.0 : 60.0; });
}
std::vector<ForecastSample> noise() {
  std::minstd_rand random(7);  // the same everywhere, unlike the library's distributions
  return seriesOf(50, [&](size_t) {
    return 40 + 10 * (static_cast<double>(random() % 10'000) / 10'000 - 0.5);
  });
}

TEST(Forecast, AConstantSeriesForecastsItselfExactly) {
  for (double score : {0.0, 0.1, 40.0, 42.8, 99.9, 100.0}) {
    std::vector<ForecastSample> series = seriesOf(50, [&](size_t) { return score; });
    // Features that move must not matter.
    for (size_t t = 0; t < series.size(); ++t) {
      series[t].features[2] = std::sin(static_cast<double>(t));
    }
    Forecast result = forecast(series);
    ASSERT_TRUE(result.enough);
    for (const ModelForecast& model : result.models) {
      for (double predicted : model.predicted) EXPECT_EQ(predicted, score) << name(model.model);
      EXPECT_EQ(model.errors.overall, 0) << name(model.model);
      EXPECT_FALSE(model.skill[0].has_value());
    }
    EXPECT_FALSE(result.beatsNoChange());
    EXPECT_EQ(result.confidence, 1);
    EXPECT_EQ(result.slope, 0);
    EXPECT_EQ(result.warnings, Warnings());
  }
}

TEST(Forecast, BelowTenSamplesThereIsNone) {
  EXPECT_FALSE(forecast({}).enough);
  std::vector<ForecastSample> series = ramp();
  Forecast nine = forecast(History(series).first(9));
  EXPECT_FALSE(nine.enough);
  EXPECT_EQ(nine.history, 9);
  EXPECT_EQ(nine.warnings, Warnings());
  Forecast ten = forecast(History(series).first(10));
  EXPECT_TRUE(ten.enough);
  // With ten, the third horizon cannot be checked: its skill is unknown, not zero.
  EXPECT_EQ(ten.of(ForecastModel::kWindow).errors.count, (std::array<size_t, 3>{2, 1, 0}));
  EXPECT_FALSE(ten.of(ForecastModel::kDrift).skill[2].has_value());
  EXPECT_TRUE(ten.of(ForecastModel::kDrift).skill[0].has_value());
}

TEST(Forecast, OnlyTheLastFiftySamplesCount) {
  std::vector<ForecastSample> series = seriesOf(30, [](size_t) { return 90.0; });
  std::vector<ForecastSample> later = sine();
  std::vector<ForecastSample> joined = series;
  joined.insert(joined.end(), later.begin(), later.end());
  EXPECT_EQ(forecast(joined).of(ForecastModel::kWindow).predicted,
            forecast(later).of(ForecastModel::kWindow).predicted);
  EXPECT_EQ(forecast(joined).history, 50);
}

TEST(Forecast, DriftContinuesARampAndPersistenceDoesNot) {
  Forecast result = forecast(ramp());
  const ModelForecast& drift = result.of(ForecastModel::kDrift);
  EXPECT_NEAR(drift.predicted[0], 45.0, 1e-9);
  EXPECT_NEAR(drift.predicted[2], 46.0, 1e-9);
  EXPECT_NEAR(*drift.skill[0], 1, 1e-9);
  const ModelForecast& as_now = result.of(ForecastModel::kPersistence);
  EXPECT_NEAR(as_now.predicted[2], 44.5, 1e-9);
  EXPECT_NEAR(as_now.errors.mean[2], 1.5, 1e-9);
  EXPECT_EQ(*as_now.skill[2], 0);
  EXPECT_EQ(result.best, ForecastModel::kDrift);
  EXPECT_NEAR(result.slope, 0.5, 1e-9);
  EXPECT_TRUE(result.warnings.trend);
}

TEST(Forecast, ASineOfPeriodTwelveIsForetoldByBothLinearModels) {
  Forecast result = forecast(sine());
  EXPECT_TRUE(result.beatsNoChange());
  EXPECT_EQ(result.best, ForecastModel::kRidge);
  for (size_t k = 0; k < kForecastHorizons; ++k) {
    double truth = 50 + 20 * std::sin(2 * std::numbers::pi * static_cast<double>(50 + k) / 12);
    EXPECT_NEAR(result.of(ForecastModel::kRidge).predicted[k], truth, 1.0);
    EXPECT_GT(*result.of(ForecastModel::kRidge).skill[k], 0.8);
    EXPECT_GT(*result.of(ForecastModel::kWindow).skill[k], 0.2);
    EXPECT_LT(*result.of(ForecastModel::kDrift).skill[k], 0.2);
  }
}

TEST(Forecast, AModelIsBetterOnlyByAMarginThatCanBeRead) {
  EXPECT_TRUE(clearlyBetter(0.5, 1.0));
  EXPECT_FALSE(clearlyBetter(0.97, 1.04));  // read "1.0" both
  EXPECT_FALSE(clearlyBetter(9.6, 10));     // 4 %
  EXPECT_TRUE(clearlyBetter(9.4, 10));
  EXPECT_FALSE(clearlyBetter(0, 0));
  EXPECT_FALSE(clearlyBetter(0, 0.04));
  // A ramp so flat that the line's error and that of no change print the same digits.
  Forecast flat =
      forecast(seriesOf(50, [](size_t t) { return 40 + 0.01 * static_cast<double>(t); }));
  EXPECT_FALSE(flat.beatsNoChange());
  EXPECT_FALSE(flat.publishedBeatsNoChange());
  EXPECT_TRUE(forecast(sine()).publishedBeatsNoChange());
}

TEST(Forecast, NoModelForeseesAStep) {
  Forecast result = forecast(step());
  EXPECT_FALSE(result.beatsNoChange());
  EXPECT_FALSE(result.publishedBeatsNoChange());
  // Once it has happened, "as now" is right again: the last prediction is the new level.
  EXPECT_NEAR(result.of(ForecastModel::kPersistence).predicted[0], 60, 1e-9);
  EXPECT_NEAR(result.of(ForecastModel::kWindow).predicted[0], 60, 6);
}

TEST(Forecast, NoiseKeepsConfidenceButNoWarning) {
  Forecast result = forecast(noise());
  EXPECT_GT(result.confidence, 0.85);  // within ten points everything is right by five
  EXPECT_FALSE(result.warnings.trend);
}

TEST(Forecast, PredictionsStayWithinTheScale) {
  std::vector<ForecastSample> up = seriesOf(50, [](size_t t) { return 2.04 * double(t); });
  std::vector<ForecastSample> down = seriesOf(50, [](size_t t) { return 100 - 2.04 * double(t); });
  for (ForecastModel model : kForecastModels) {
    for (double predicted : predict(model, up)) EXPECT_LE(predicted, 100) << name(model);
    for (double predicted : predict(model, down)) EXPECT_GE(predicted, 0) << name(model);
  }
  EXPECT_EQ(predict(ForecastModel::kDrift, up)[2], 100);
}

TEST(Forecast, WarningsFireExactlyAboveTheirLimits) {
  auto worse = [](double predicted, double confidence) {
    return warningsOf(40, {40, 40, predicted}, confidence, 0).worse;
  };
  EXPECT_FALSE(worse(45, 0.61));
  EXPECT_TRUE(worse(45.001, 0.61));
  EXPECT_FALSE(worse(45.001, 0.6));
  EXPECT_TRUE(worse(45.001, 0.6001));
  EXPECT_FALSE(worse(30, 1));  // better is no warning
  EXPECT_TRUE(warningsOf(40, {45.5, 40, 40}, 1, 0).worse);

  EXPECT_FALSE(warningsOf(40, {40, 50, 50}, 0, 0).jump);
  EXPECT_TRUE(warningsOf(40, {40, 50.001, 50}, 0, 0).jump);
  EXPECT_TRUE(warningsOf(40, {40, 40, 50.001}, 0, 0).jump);
  EXPECT_FALSE(warningsOf(40, {50.001, 50, 50}, 0, 0).jump);  // between predictions only
  EXPECT_FALSE(warningsOf(40, {40, 20, 20}, 0, 0).jump);

  EXPECT_FALSE(warningsOf(40, {40, 40, 40}, 0, 0.3).trend);
  EXPECT_TRUE(warningsOf(40, {40, 40, 40}, 0, 0.3001).trend);
  EXPECT_TRUE(warningsOf(40, {40, 40, 40}, 0, -0.3001).trend);
  EXPECT_FALSE(warningsOf(40, {40, 40, 40}, 0, -0.3).trend);
}

TEST(Forecast, RiskBeginsAtItsLimit) {
  EXPECT_EQ(name(riskOf(80.01)), "critical");
  EXPECT_EQ(name(riskOf(80)), "high") << "published: above 80 is critical, 70 to 80 is high";
  EXPECT_EQ(name(riskOf(70)), "high");
  EXPECT_EQ(name(riskOf(69.99)), "medium");
  EXPECT_EQ(name(riskOf(50)), "medium");
  EXPECT_EQ(name(riskOf(49.99)), "low");
  EXPECT_EQ(name(riskOf(30)), "low");
  EXPECT_EQ(name(riskOf(29.99)), "minimal");
}

TEST(Forecast, TheSlopeIsThatOfTheLastTwentyScores) {
  std::vector<ForecastSample> series =
      seriesOf(50, [](size_t t) { return t < 30 ? 50.0 : 50 - 0.25 * double(t - 30); });
  EXPECT_NEAR(forecast(series).slope, -0.25, 1e-9);
  EXPECT_EQ(slopeOf(History(series).first(1)), 0);
  EXPECT_EQ(slopeOf({}), 0);
}

TEST(ForecastInputs, AreScoresAndFeaturesOfTheWindow) {
  std::vector<ForecastSample> series = ramp();
  ForecastInputs inputs(series);
  EXPECT_EQ(inputs.windows(1).size(), 45);
  EXPECT_EQ(inputs.windows(3).size(), 43);
  EXPECT_EQ(inputs.targets(3).size(), 43);
  ForecastInput last = inputs.last();
  EXPECT_EQ(last[1], 0);  // a constant feature
  EXPECT_NEAR(inputs.score().back(last[34]), 44.5, 1e-9);
  EXPECT_NEAR(inputs.score().back(last[30]), 42.5, 1e-9);
  EXPECT_NEAR(inputs.score().back(inputs.targets(3)[0]), 23.5, 1e-9);
}

// A gradient longer than 1 is made shorter, never longer: one huge target moves no weight by more
// than the rate in a round, 500 rounds by no more than 5.
TEST(ForecastDescent, ClipsTheGradientTheRightWayUp) {
  ForecastInput input{};
  input[0] = 1;
  LinearModel model = trainByDescent({input}, {1e6});
  EXPECT_GT(model[0], 3);
  EXPECT_LT(model[0], 5.01);
  EXPECT_EQ(model[1], 0);
  // A short gradient is not scaled: it approaches, but not in one step.
  LinearModel small = trainByDescent({input}, {0.5});
  EXPECT_NEAR(modelValue(small, input), 0.5, 1e-3);
}

TEST(ForecastDescent, HoldsWeightsWithinTen) {
  // A bias moves by 0.01 a round at most: from zero it never gets that far, from 9.5 it would pass
  // 14.
  LinearModel start{};
  start[kForecastInputs] = 9.5;
  EXPECT_EQ(descendFrom(start, {ForecastInput{}}, {100})[kForecastInputs], 10);
  start[kForecastInputs] = -9.5;
  EXPECT_EQ(descendFrom(start, {ForecastInput{}}, {-100})[kForecastInputs], -10);
}

TEST(ForecastRidge, FindsAPlainLine) {
  std::vector<ForecastInput> inputs;
  std::vector<double> targets;
  for (int n = 0; n < 1000; ++n) {
    ForecastInput input{};
    input[3] = n % 7 - 3.0;
    inputs.push_back(input);
    targets.push_back(2 * input[3] + 5);
  }
  LinearModel model = solveRidge(inputs, targets);
  EXPECT_NEAR(model[3], 2, 1e-2);
  EXPECT_NEAR(model[kForecastInputs], 5, 1e-2);
  EXPECT_NEAR(model[0], 0, 1e-9);
}

// ---- the table in the docs ----------------------------------------------------------------------

std::string skillText(const std::optional<double>& skill) {
  return skill ? fmt::format("{:.2f}", *skill + 0.0) : "–";
}

std::vector<std::string> tableRows() {
  std::vector<std::pair<std::string, std::vector<ForecastSample>>> cases = {
      {"constant 40", constant()},
      {"ramp, 0.5 a sample", ramp()},
      {"sine of period 12, ± 20", sine()},
      {"step from 30 to 60", step()},
      {"noise within ± 5", noise()}};
  std::vector<std::string> rows;
  for (const auto& [title, series] : cases) {
    Forecast result = forecast(series);
    std::string row = fmt::format("| {} |", title);
    for (ForecastModel model :
         {ForecastModel::kWindow, ForecastModel::kRidge, ForecastModel::kDrift}) {
      const ModelForecast& of = result.of(model);
      for (size_t k = 0; k < kForecastHorizons; ++k) row += " " + skillText(of.skill[k]) + " |";
    }
    row += fmt::format(" {:.2f} | {} | {:.2f} |",
                       result.of(ForecastModel::kPersistence).errors.overall,
                       result.beatsNoChange() ? name(result.best) : "none", result.confidence);
    rows.push_back(row);
  }
  return rows;
}

// docs/explain/forecast.md contains the table that this prints. TIDEGAUGE_UPDATE_DOCS=1 writes it
// there.
TEST(ForecastTable, TheDocsHoldIt) {
  const char* root = std::getenv("TIDEGAUGE_SOURCE_DIR");
  if (root == nullptr) GTEST_SKIP() << "TIDEGAUGE_SOURCE_DIR names no source tree";
  std::string path = std::string(root) + "/docs/explain/forecast.md";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::stringstream read;
  read << file.rdbuf();
  std::string text = read.str();
  std::string begin = "<!-- skill table -->\n";
  size_t from = text.find(begin);
  ASSERT_NE(from, std::string::npos);
  from += begin.size();
  size_t to = text.find("\n<!-- end -->", from);
  ASSERT_NE(to, std::string::npos);
  std::string table =
      "| series | window 1 | 2 | 3 | ridge 1 | 2 | 3 | drift 1 | 2 | 3 | error of “as now” | best "
      "| confidence |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|";
  for (const std::string& row : tableRows()) table += "\n" + row;
  if (std::getenv("TIDEGAUGE_UPDATE_DOCS") != nullptr) {
    text.replace(from, to - from, table);
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text.substr(from, to - from), table) << "TIDEGAUGE_UPDATE_DOCS=1 writes it";
}

}  // namespace
}  // namespace tidegauge::analysis
