// The state at a step, tiles of the map, flame graphs and tables, on a file.
//
//   TIDEGAUGE_BENCH_FILE=big.pickle views_bench     else $TIDEGAUGE_BENCH_DATA/1g.pickle
//
// Reports the mean and, as a counter, the 99th percentile over random places.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>

#include "analysis/trace/flame.h"
#include "opened_file.h"
#include "view/filter/filter.h"
#include "view/map/address_map.h"
#include "view/state_at.h"
#include "view/tables/table.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::Step;

// Calls f(analysed, device, random) per iteration.
template <class F>
void measure(benchmark::State& state, F&& f) {
  const AnalysedTrace* analysed = opened();
  if (analysed == nullptr || analysed->devices.empty()) {
    state.SkipWithError("TIDEGAUGE_BENCH_FILE names no snapshot that can be read");
    return;
  }
  const DeviceAnalysis& device = *busiest(*analysed);
  std::mt19937_64 random(3);
  std::vector<double> times_ms;
  for (auto _ : state) {
    auto begin = std::chrono::steady_clock::now();
    f(*analysed, device, random);
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    times_ms.push_back(took.count());
  }
  std::sort(times_ms.begin(), times_ms.end());
  state.counters["p99_ms"] = times_ms[times_ms.size() * 99 / 100];
  state.counters["events"] = device.totals.steps();
}

void StateAtRandomSteps(benchmark::State& state) {
  measure(state, [](const AnalysedTrace& a, const DeviceAnalysis& d, std::mt19937_64& random) {
    view::StateQuestion question;
    question.step = static_cast<Step>(random() % d.totals.steps());
    question.pixel_bytes = 65536;
    benchmark::DoNotOptimize(view::stateAt(a, d, question));
  });
}
BENCHMARK(StateAtRandomSteps)->Unit(benchmark::kMillisecond)->Iterations(200);

void MapIndex(benchmark::State& state) {
  measure(state, [](const AnalysedTrace& a, const DeviceAnalysis& d, std::mt19937_64&) {
    benchmark::DoNotOptimize(view::AddressMap(a, d));
  });
}
BENCHMARK(MapIndex)->Unit(benchmark::kMillisecond)->Iterations(2);

void MapGridOfAFilter(benchmark::State& state) {
  static std::unique_ptr<view::AddressMap> map;
  measure(state, [](const AnalysedTrace& a, const DeviceAnalysis& d, std::mt19937_64&) {
    if (!map) map = std::make_unique<view::AddressMap>(a, d);
    view::FilterSet filter = view::applyFilter(a, view::parseFilter("size:>100KiB").value());
    benchmark::DoNotOptimize(map->gridOf(filter));
  });
  map.reset();
}
BENCHMARK(MapGridOfAFilter)->Unit(benchmark::kMillisecond)->Iterations(5);

// range(0), range(1) = parts of the steps and of the addresses that a tile shows, in 1/1000;
// range(2): with a filter that half of the blocks pass.
void MapTile(benchmark::State& state) {
  static std::unique_ptr<view::AddressMap> map;
  static std::unique_ptr<view::FilterSet> filter;
  static std::unique_ptr<const view::MapGrid> grid;
  double share_x = static_cast<double>(state.range(0)) / 1000;
  double share_y = static_cast<double>(state.range(1)) / 1000;
  size_t most_quads = 0;
  // What is computed once per file has its own lines: MapIndex, CategoriesOfEverything.
  if (const AnalysedTrace* a = opened(); a != nullptr && !a->devices.empty() && !map) {
    map = std::make_unique<view::AddressMap>(*a, *busiest(*a));
    filter = std::make_unique<view::FilterSet>(
        view::applyFilter(*a, view::parseFilter("size:>100KiB").value()));
    grid = map->gridOf(*filter);
    benchmark::DoNotOptimize(a->categories->of(0));
  }
  measure(state, [&](const AnalysedTrace&, const DeviceAnalysis& d, std::mt19937_64& random) {
    std::uniform_real_distribution<> unit(0, 1);
    double steps = d.totals.steps();
    auto total = static_cast<double>(map->axis().totalBytes());
    view::MapQuestion q;
    q.x = {.x0 = unit(random) * steps * (1 - share_x), .columns = 512};
    q.x.x1 = q.x.x0 + steps * share_x;
    q.y0_bytes = unit(random) * total * (1 - share_y);
    q.y1_bytes = q.y0_bytes + total * share_y;
    q.rows = 400;
    q.filter = state.range(2) != 0 ? filter.get() : nullptr;
    q.passing_grid = grid.get();
    view::MapTile tile = map->tile(q);
    most_quads = std::max(most_quads, tile.quads.size());
  });
  state.counters["quads"] = static_cast<double>(most_quads);
}
BENCHMARK(MapTile)
    ->ArgNames({"x", "y", "filter"})
    ->ArgsProduct({{1000, 300, 100, 10}, {1000, 300, 90, 10}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(50);

void FlameAtPeak(benchmark::State& state) {
  measure(state, [](const AnalysedTrace& a, const DeviceAnalysis& d, std::mt19937_64&) {
    auto weights = analysis::weightsOf(a.trace, d.live.liveAt(d.totals.peakActive().step));
    benchmark::DoNotOptimize(analysis::flameOf(a, weights, {}));
  });
}
BENCHMARK(FlameAtPeak)->Unit(benchmark::kMillisecond)->Iterations(20);

void FlameOfEverythingAllocated(benchmark::State& state) {
  measure(state, [](const AnalysedTrace& a, const DeviceAnalysis& d, std::mt19937_64&) {
    auto weights =
        analysis::weightsOf(a.trace, analysis::allocatedIn(a.trace, d, 0, d.totals.steps()));
    benchmark::DoNotOptimize(analysis::flameOf(a, weights, {}));
  });
}
BENCHMARK(FlameOfEverythingAllocated)->Unit(benchmark::kMillisecond)->Iterations(5);

void CategoriesOfEverything(benchmark::State& state) {
  measure(state, [](const AnalysedTrace& a, const DeviceAnalysis& d, std::mt19937_64&) {
    analysis::Categories categories(a.trace, {&d.phases}, {});
    benchmark::DoNotOptimize(categories.of(0));
  });
}
BENCHMARK(CategoriesOfEverything)->Unit(benchmark::kMillisecond)->Iterations(2);

void FilterByStack(benchmark::State& state) {
  measure(state, [](const AnalysedTrace& a, const DeviceAnalysis&, std::mt19937_64&) {
    auto filter = view::parseFilter("stack:/forward|backward/ size:>1MiB");
    benchmark::DoNotOptimize(view::applyFilter(a, filter.value()));
  });
}
BENCHMARK(FilterByStack)->Unit(benchmark::kMillisecond)->Iterations(3);

void SortAllocations(benchmark::State& state) {
  measure(state, [](const AnalysedTrace& a, const DeviceAnalysis& d, std::mt19937_64&) {
    auto table = view::tableOf(a, d, "allocations", nullptr);
    benchmark::DoNotOptimize(view::orderOf(*table, *table->find("block_bytes"), true));
  });
}
BENCHMARK(SortAllocations)->Unit(benchmark::kMillisecond)->Iterations(2);

void StacksTable(benchmark::State& state) {
  measure(state, [](const AnalysedTrace& a, const DeviceAnalysis& d, std::mt19937_64&) {
    benchmark::DoNotOptimize(view::tableOf(a, d, "stacks", nullptr));
  });
}
BENCHMARK(StacksTable)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace tidegauge
