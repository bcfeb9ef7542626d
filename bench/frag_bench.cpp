// Fragmentation over time, at one step, and the forecast, on a file.
//
//   TIDEGAUGE_BENCH_FILE=big.pickle frag_bench      else $TIDEGAUGE_BENCH_DATA/1g.pickle
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "analysis/forecast.h"
#include "analysis/fragmentation_details.h"
#include "analysis/fragmentation_series.h"
#include "readers/torch/open_snapshots.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;

// nullptr without a file: the benchmarks say so and measure nothing.
const AnalysedTrace* opened() {
  static const std::unique_ptr<AnalysedTrace> kTrace = []() -> std::unique_ptr<AnalysedTrace> {
    std::string path;
    if (const char* file = std::getenv("TIDEGAUGE_BENCH_FILE")) {
      path = file;
    } else if (const char* data = std::getenv("TIDEGAUGE_BENCH_DATA")) {
      path = std::string(data) + "/1g.pickle";  // made by ./dev bench
    }
    if (path.empty()) return nullptr;
    auto read = readers::torch::openSnapshots(path, {});
    if (!read.ok() || read.value().empty()) return nullptr;
    return std::make_unique<AnalysedTrace>(std::move(read.value().front()));
  }();
  return kTrace.get();
}

// Calls f(analysed, device) per iteration; the device with the most events.
template <class F>
void measure(benchmark::State& state, F&& f) {
  const AnalysedTrace* analysed = opened();
  if (analysed == nullptr || analysed->devices.empty()) {
    state.SkipWithError("TIDEGAUGE_BENCH_FILE names no snapshot that can be read");
    return;
  }
  const DeviceAnalysis* busiest = analysed->devices.front().get();
  for (const auto& device : analysed->devices) {
    if (device->totals.steps() > busiest->totals.steps()) busiest = device.get();
  }
  for (auto _ : state) f(*analysed, *busiest);
  state.counters["events"] = busiest->totals.steps();
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
