// SQL over a generated trace: TIDEGAUGE_BENCH_EVENTS events (default 10 million) of one device,
// with 5,000 stacks of 20 frames. One benchmark per query; "first" ones include what is built on
// first use (an order index), the others repeat it.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <random>

#include "model/lives/lives.h"
#include "query/database.h"

namespace tidegauge::query {
namespace {

constexpr uint32_t kStacks = 5000;
constexpr uint32_t kFramesPerStack = 20;

size_t eventCount() {
  const char* text = std::getenv("TIDEGAUGE_BENCH_EVENTS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 10'000'000;
}

void addStacks(model::Trace& trace) {
  for (uint32_t f = 0; f < kStacks; ++f) {
    trace.frames.function.push_back(trace.strings.intern(fmt::format("function_{}", f)));
    trace.frames.file.push_back(trace.strings.intern(fmt::format("/code/module_{}.py", f % 200)));
    trace.frames.line.push_back(f % 977);
    trace.frames.kind.push_back(model::FrameKind::kPython);
    trace.frames.note.emplace_back();
  }
  for (uint32_t s = 0; s < kStacks; ++s) {
    std::vector<model::FrameId> frames;
    for (uint32_t i = 0; i < kFramesPerStack; ++i) frames.emplace_back((s + i * i * 7) % kStacks);
    trace.stacks.add(frames);
  }
}

// Blocks of random sizes at fixed places; a random one is freed when its place is needed again.
model::Trace makeTrace(size_t events) {
  constexpr uint32_t kPlaces = 20'000;
  constexpr uint64_t kPlaceBytes = 32 << 20;
  model::Trace trace;
  addStacks(trace);
  trace.streams.emplace_back();
  trace.pools.emplace_back();
  std::mt19937_64 random(7);
  std::vector<uint64_t> live_bytes(kPlaces, 0);
  std::vector<model::StackId> live_stack(kPlaces);
  model::Events& e = trace.events;
  auto push = [&](model::Action action, uint64_t address, uint64_t bytes, model::StackId stack) {
    e.action.push_back(action);
    e.address.push_back(address);
    e.size_bytes.push_back(bytes);
    e.stack.push_back(stack);
    e.stream.push_back(model::StreamId(0));
    e.time_us.push_back(1'700'000'000'000'000 + static_cast<int64_t>(e.action.size()) * 3);
  };
  uint64_t base = uint64_t{0x7f} << 40;
  push(model::Action::kSegmentAlloc, base, kPlaces * kPlaceBytes, model::StackId(0));
  while (e.size() + 3 <= events) {
    size_t place = random() % kPlaces;
    uint64_t address = base + place * kPlaceBytes;
    if (live_bytes[place] != 0) {
      push(model::Action::kFreeRequested, address, live_bytes[place], live_stack[place]);
      push(model::Action::kFreeCompleted, address, live_bytes[place], live_stack[place]);
    }
    live_bytes[place] = ((random() % 1000) * (random() % 1000) + 1) * 16;
    live_stack[place] = model::StackId(static_cast<uint32_t>(random() % kStacks));
    push(model::Action::kAlloc, address, live_bytes[place], live_stack[place]);
  }
  e.subject.assign(e.size(), model::AllocationId::kNone);
  model::Device device;
  device.event_end = e.size();
  trace.devices.push_back(device);
  model::buildLives(trace);
  return trace;
}

const analysis::AnalysedTrace& sharedTrace() {
  static const auto kTrace = std::make_unique<analysis::AnalysedTrace>(makeTrace(eventCount()));
  return *kTrace;
}

const Database& sharedDatabase() {
  static const Database kDatabase(sharedTrace());
  return kDatabase;
}

void ask(benchmark::State& state, const Database& database, const std::string& sql) {
  auto result = database.run(sql, {.milliseconds = 600'000});
  if (!result.ok()) return state.SkipWithError(result.error().what.c_str());
  state.counters["rows"] = static_cast<double>(result.value().rows.size());
  benchmark::DoNotOptimize(result);
}

void again(benchmark::State& state, const std::string& sql) {
  ask(state, sharedDatabase(), sql);
  for (auto _ : state) ask(state, sharedDatabase(), sql);
}

void first(benchmark::State& state, const std::string& sql) {
  for (auto _ : state) {
    state.PauseTiming();
    auto database = std::make_unique<Database>(sharedTrace());
    state.ResumeTiming();
    ask(state, *database, sql);
  }
}

void add(const char* name, const std::string& sql) {
  benchmark::RegisterBenchmark(fmt::format("first/{}", name).c_str(), first, sql)
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1);
  benchmark::RegisterBenchmark(fmt::format("again/{}", name).c_str(), again, sql)
      ->Unit(benchmark::kMillisecond);
}

const bool kRegistered = [] {
  add("count", "SELECT count(*) FROM events");
  add("sum", "SELECT sum(size_bytes) FROM events");
  add("sum_where", "SELECT count(*), sum(size_bytes) FROM events WHERE action = 'alloc'");
  add("filter_few", "SELECT count(*) FROM events WHERE size_bytes > 15900000");
  add("group_by_action", "SELECT action, count(*), sum(size_bytes) FROM events GROUP BY action");
  add("group_by_stack", "SELECT stack_id, sum(block_bytes) FROM allocations GROUP BY stack_id");
  add("order_by_size_limit",
      "SELECT step, size_bytes FROM events ORDER BY size_bytes DESC LIMIT 9");
  add("one_step", "SELECT * FROM events WHERE device = 0 AND step = 1234567");
  add("totals_peak", "SELECT max(active_bytes) FROM totals");
  add("live_at", "SELECT count(*), sum(block_bytes) FROM live_at(0, 5000000)");
  add("stack_contains",
      "SELECT count(*), sum(block_bytes) FROM allocations WHERE stack_text LIKE '%function_77%'");
  add("join_stacks",
      "SELECT s.depth, count(*) FROM live_at(0, 5000000) a JOIN stacks s ON s.id = a.stack_id "
      "GROUP BY s.depth");
  add("join_events",
      "SELECT count(*), max(e.time_us) FROM live_at(0, 5000000) a JOIN events e ON e.allocation_id "
      "= a.id AND e.action = 'alloc'");
  add("median", "SELECT median(block_bytes) FROM allocations");
  return true;
}();

}  // namespace
}  // namespace tidegauge::query
