// Tiles of the stacked timeline over a synthetic trace of 10 million events: training-like waves
// (grow for half a step, shrink for the other half, newest first mostly; long-lived weights below),
// 5,000 or 20,000 blocks live. Reports the mean and, as counters, the slowest tile and its quads.
//
//   tile_bench --benchmark_filter=Tile
//   TIDEGAUGE_BENCH_FILE=big.pickle tile_bench --benchmark_filter=File
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>

#include "model/lives/lives.h"
#include "readers/torch/unpack/open_snapshots.h"
#include "view/timeline/block_at.h"
#include "view/timeline/stack_tile.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;

constexpr size_t kEvents = 10'000'000;

model::Trace synthetic(size_t most_live) {
  model::Trace trace;
  trace.streams.push_back({});
  trace.pools.push_back({});
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> size(14, 2.6);
  struct Live {
    uint64_t address;
    uint64_t bytes;
  };
  std::vector<Live> live;
  auto event = [&](model::Action action, const Live& block) {
    trace.events.action.push_back(action);
    trace.events.address.push_back(block.address);
    trace.events.size_bytes.push_back(block.bytes);
    trace.events.stack.emplace_back();
    trace.events.stream.push_back(model::StreamId(0));
    trace.events.subject.push_back(UINT32_MAX);
  };
  uint64_t next_address = 0x7f0000000000;
  bool growing = true;
  while (trace.events.size() < kEvents) {
    if (live.size() >= most_live) growing = false;
    if (live.size() < most_live / 4) growing = true;
    if (random() % 100 < (growing ? 80 : 20)) {
      auto bytes = static_cast<uint64_t>(std::clamp(size(random), 512.0, 2e9)) / 512 * 512;
      live.push_back({next_address, bytes});
      next_address += bytes;
      event(model::Action::kAlloc, live.back());
    } else if (!live.empty()) {
      size_t near_top = live.size() - 1 - random() % std::min<size_t>(8, live.size());
      size_t at = random() % 100 < 70 ? near_top : random() % live.size();
      event(model::Action::kFree, live[at]);
      live.erase(live.begin() + static_cast<ptrdiff_t>(at));
    }
  }
  model::Device device;
  device.event_end = kEvents;
  trace.devices.push_back(device);
  model::buildLives(trace);
  return trace;
}

const AnalysedTrace& traceWith(size_t most_live) {
  static std::map<size_t, std::unique_ptr<AnalysedTrace>> kept;
  auto& trace = kept[most_live];
  if (!trace) trace = std::make_unique<AnalysedTrace>(synthetic(most_live));
  return *trace;
}

view::TileRequest requestFor(const analysis::DeviceAnalysis& device, double x0, double width,
                             uint32_t columns) {
  view::TileRequest request;
  request.x = {.x0 = x0, .x1 = x0 + width, .columns = columns};
  request.y1_bytes = static_cast<double>(device.totals.peakActive().bytes);
  request.row_bytes = request.y1_bytes / 800;
  return request;
}

// Tiles of `width` steps at random places.
void measureTiles(benchmark::State& state, const AnalysedTrace& analysed,
                  const analysis::DeviceAnalysis& device, double width, uint32_t columns) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<> place(0, device.totals.steps() - width);
  std::vector<double> times_ms;
  // What is computed once per file (categories) has its own line in views_bench.
  benchmark::DoNotOptimize(
      view::stackTile(analysed, device, requestFor(device, 0, width, columns)));
  double quads = 0;
  double raised = 0;
  for (auto _ : state) {
    auto begin = std::chrono::steady_clock::now();
    view::StackTile tile =
        view::stackTile(analysed, device, requestFor(device, place(random), width, columns));
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    times_ms.push_back(took.count());
    quads = std::max(quads, static_cast<double>(tile.quads.size()));
    raised = std::max(raised, tile.threshold_bytes /
                                  (static_cast<double>(device.totals.peakActive().bytes) / 800));
    benchmark::DoNotOptimize(tile);
  }
  std::sort(times_ms.begin(), times_ms.end());
  state.counters["p99_ms"] = times_ms[times_ms.size() * 99 / 100];
  state.counters["quads"] = quads;
  state.counters["threshold_px"] = raised;
}

// range(0) = live, range(1) = steps in the tile, range(2) = columns; the place is random.
void Tile(benchmark::State& state) {
  const AnalysedTrace& analysed = traceWith(static_cast<size_t>(state.range(0)));
  measureTiles(state, analysed, *analysed.devices[0], static_cast<double>(state.range(1)),
               static_cast<uint32_t>(state.range(2)));
}
BENCHMARK(Tile)
    ->ArgNames({"live", "steps", "columns"})
    ->ArgsProduct({{5000, 20000}, {2000, 100'000, 1'000'000, 10'000'000}, {256, 512}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(100);

// Tiles of a snapshot: range(0) = how many of them cover the recording, range(1) = columns.
void FileTile(benchmark::State& state) {
  const char* path = std::getenv("TIDEGAUGE_BENCH_FILE");
  if (path == nullptr) return state.SkipWithError("set TIDEGAUGE_BENCH_FILE to a snapshot");
  static const std::unique_ptr<AnalysedTrace> analysed = [&] {
    auto traces = readers::torch::openSnapshots(path, {});
    return traces.ok() && !traces.value().empty()
               ? std::make_unique<AnalysedTrace>(std::move(traces.value().front()))
               : nullptr;
  }();
  if (!analysed) return state.SkipWithError("cannot read TIDEGAUGE_BENCH_FILE");
  measureTiles(state, *analysed, *analysed->devices[0],
               analysed->devices[0]->totals.steps() / static_cast<double>(state.range(0)),
               static_cast<uint32_t>(state.range(1)));
}
BENCHMARK(FileTile)
    ->ArgNames({"parts", "columns"})
    ->ArgsProduct({{1, 8, 64, 512}, {512, 1024}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(40);

void Lines(benchmark::State& state) {
  const AnalysedTrace& analysed = traceWith(5000);
  const analysis::DeviceAnalysis& device = *analysed.devices[0];
  view::XRange range{.x1 = static_cast<double>(state.range(0)),
                     .columns = static_cast<uint32_t>(state.range(1))};
  for (auto _ : state) benchmark::DoNotOptimize(view::columnStates(device, range));
}
BENCHMARK(Lines)
    ->ArgNames({"steps", "columns"})
    ->ArgsProduct({{100'000, 10'000'000}, {2048, 8192}})
    ->Unit(benchmark::kMillisecond);

void Pick(benchmark::State& state) {
  const AnalysedTrace& analysed = traceWith(static_cast<size_t>(state.range(0)));
  const analysis::DeviceAnalysis& device = *analysed.devices[0];
  std::mt19937_64 random(4);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        view::blockAt(analysed, device, static_cast<analysis::Step>(random() % kEvents), 1e9));
  }
}
BENCHMARK(Pick)->Arg(5000)->Arg(20000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tidegauge
