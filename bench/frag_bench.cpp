// Fragmentation over time, at one step, and the forecast, on a file.
//
//   TIDEGAUGE_BENCH_FILE=big.pickle frag_bench      else $TIDEGAUGE_BENCH_DATA/1g.pickle
#include <benchmark/benchmark.h>

#include "analysis/forecast/forecast.h"
#include "analysis/layout/fragmentation_details.h"
#include "analysis/layout/fragmentation_series.h"
#include "opened_file.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;

// Calls f(analysed, device) per iteration; the device with the most events.
template <class F>
void measure(benchmark::State& state, F&& f) {
  const AnalysedTrace* analysed = opened();
  if (analysed == nullptr || analysed->devices.empty()) {
    state.SkipWithError("TIDEGAUGE_BENCH_FILE names no snapshot that can be read");
    return;
  }
  const DeviceAnalysis& device = *busiest(*analysed);
  for (auto _ : state) f(*analysed, device);
  state.counters["events"] = device.totals.steps();
}

void Series(benchmark::State& state) {
  measure(state, [&](const AnalysedTrace& analysed, const DeviceAnalysis& device) {
    auto series = analysis::fragmentationSeries(analysed, device,
                                                {.samples = static_cast<size_t>(state.range(0))});
    benchmark::DoNotOptimize(series);
    double blocks = 0;
    for (const auto& sample : series.samples) blocks += static_cast<double>(sample.sums.blocks);
    state.counters["live_blocks"] = blocks / static_cast<double>(series.samples.size());
  });
}
BENCHMARK(Series)->Unit(benchmark::kMillisecond)->Arg(200)->Arg(2000)->Iterations(3);

void AtOneStep(benchmark::State& state) {
  measure(state, [](const AnalysedTrace& analysed, const DeviceAnalysis& device) {
    benchmark::DoNotOptimize(
        analysis::fragmentationAt(analysed, device, device.totals.steps() / 2, {}));
  });
}
BENCHMARK(AtOneStep)->Unit(benchmark::kMillisecond)->Iterations(20);

void ForecastOfFifty(benchmark::State& state) {
  std::vector<analysis::ForecastSample> history;
  for (int t = 0; t < 50; ++t) {
    double score = t * 37 % 100;
    history.push_back({{score / 100, 0.5, 0.2, 0.1, 0, 1 - score / 100}, score});
  }
  for (auto _ : state) benchmark::DoNotOptimize(analysis::forecast(history));
}
BENCHMARK(ForecastOfFifty)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tidegauge
