// Reading a snapshot: MB/s of the input, nanoseconds per event, peak memory.
//
//   reader_bench                                      made-up snapshots of 200,000 events
//   TIDEGAUGE_BENCH_FILE=big.pickle reader_bench --benchmark_filter=File
//
// bench/compare_pickle.py runs the second and Python's pickle.load on the same file.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "base/file_bytes.h"
#include "readers/torch/snapshot_reader.h"

namespace tidegauge::readers::torch {
namespace {

constexpr uint32_t kEvents = 200'000;
constexpr uint32_t kFramesPerStack = 30;

std::string little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value);
  return text;
}

std::string text(std::string_view value) {
  return fmt::format("X{}{}", little(value.size(), 4), value);
}

// Keys and one stack's frames are remembered first; events then look as a pickler writes them.
std::string madeUpPickle() {
  std::string out = "\x80\x02";
  uint32_t slot = 0;
  auto remember = [&] { out += fmt::format("r{}0", little(slot++, 4)); };
  auto reference = [](uint32_t number) { return fmt::format("j{}", little(number, 4)); };
  constexpr std::string_view kWords[] = {
      "action", "alloc",           "addr",          "size",
      "stream", "time_us",         "frames",        "free_requested",
      "N/A",    "compile_context", "user_metadata", ""};
  for (std::string_view word : kWords) {
    out += text(word);
    remember();
  }
  uint32_t first_frame = slot;
  for (uint32_t i = 0; i < 500; ++i) {
    out += "}(" + text("filename") + text(fmt::format("module_{}.py", i % 20)) + text("line") +
           "J" + little(i, 4) + text("name") + text(fmt::format("function_{}", i)) + "u";
    remember();
  }
  out += "}(" + text("segments") + "]" + text("device_traces") + "](](";
  for (uint32_t i = 0; i < kEvents; ++i) {
    out += "}(" + reference(0) + reference(i % 2 == 0 ? 1 : 7) + reference(2) + "\x8a\x06" +
           little(0x7f0000000000 + uint64_t{i} * 512, 6) + reference(3) + "J" + little(512, 4) +
           reference(4) + "K" + little(0, 1) + reference(5) + "\x8a\x07" +
           little(1'700'000'000'000'000 + i, 7) + reference(9) + reference(8) + reference(10) +
           reference(11) + reference(6) + "](";
    for (uint32_t f = 0; f < kFramesPerStack; ++f) {
      out += reference(first_frame + (f * f + i % 1000 * 7) % 500);
    }
    out += "eu";
  }
  return out + "eeu.";
}

std::string madeUpJson() {
  std::string out = R"({"segments": [], "device_traces": [[)";
  for (uint32_t i = 0; i < kEvents; ++i) {
    out += fmt::format(
        R"({}{{"action": "alloc", "addr": {}, "size": 512, "stream": 0, "time_us": {}, "frames": [)",
        i == 0 ? "" : ", ", 0x7f0000000000 + uint64_t{i} * 512, 1'700'000'000'000'000 + i);
    for (uint32_t f = 0; f < 5; ++f) {
      out += fmt::format(R"({}{{"filename": "m_{}.py", "line": {}, "name": "f_{}"}})",
                         f == 0 ? "" : ", ", f, i % 100, f);
    }
    out += "]}";
  }
  return out + "]]}";
}

void measure(benchmark::State& state, std::span<const uint8_t> bytes) {
  uint64_t events = 0;
  for (auto _ : state) {
    auto trace = readSnapshot(bytes, "bench", {});
    if (!trace.ok()) {
      state.SkipWithError(trace.error().what.c_str());
      return;
    }
    events = trace.value().events.size();
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.SetBytesProcessed(static_cast<int64_t>(bytes.size() * state.iterations()));
  state.counters["events"] = static_cast<double>(events);
  state.counters["input_bytes"] = static_cast<double>(bytes.size());
  state.counters["peak_rss_bytes"] = static_cast<double>(usage.ru_maxrss) * 1024;
}

void measureText(benchmark::State& state, const std::string& input) {
  measure(state, {reinterpret_cast<const uint8_t*>(input.data()), input.size()});
}

void BM_Pickle(benchmark::State& state) { measureText(state, madeUpPickle()); }
BENCHMARK(BM_Pickle)->Unit(benchmark::kMillisecond);

void BM_Json(benchmark::State& state) { measureText(state, madeUpJson()); }
BENCHMARK(BM_Json)->Unit(benchmark::kMillisecond);

void BM_File(benchmark::State& state) {
  const char* path = std::getenv("TIDEGAUGE_BENCH_FILE");
  if (path == nullptr) {
    state.SkipWithError("set TIDEGAUGE_BENCH_FILE to an unpacked snapshot");
    return;
  }
  auto file = base::FileBytes::open(path);
  if (!file.ok()) {
    state.SkipWithError(file.error().what.c_str());
    return;
  }
  measure(state, file.value().bytes());
}
BENCHMARK(BM_File)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->Iterations(1);

}  // namespace
}  // namespace tidegauge::readers::torch
