// Prints metrics, for tests that need no recorder to run and for tools/same_answers:
//
//   make_metrics prometheus|otlp             of a made-up session that has a sample of every metric
//   make_metrics prometheus|otlp RECORDING   of a replayed recording, at several moments of it
#include <cstdio>
#include <string>
#include <string_view>

#include "monitor/replayed_session.h"
#include "support/made_session.h"
#include "support/quiet_source.h"
#include "watch/live_arenas.h"
#include "watch/metrics.h"
#include "watch/otlp.h"
#include "watch/prometheus_text.h"

namespace {

using namespace tidegauge;

constexpr size_t kEventsPerLook = 1000;

std::string textOf(const std::vector<watch::Metric>& metrics, bool is_otlp, int64_t now_ns) {
  return is_otlp ? watch::otlpRequest(metrics, {"a-host", "0.1.0", 5}, now_ns)
                 : watch::prometheusText(metrics);
}

std::string madeUp(bool is_otlp) {
  support::MadeSession made;
  uint32_t it = made.process(42, "py \"thon\"\\");
  made.allocate(it, model::MemoryKind::kDevice, 0x1000000, 2 << 20);
  made.allocate(it, model::MemoryKind::kPinnedHost, 0x9000000, 4096);
  made.allocate(it, model::MemoryKind::kBlock, 0x1000000, 4000);
  made.allocate(it, model::MemoryKind::kDevice, 0, 1 << 30, 0, 2);
  made.session.kernelNamed({it, 7, 0, "void f<int, 3>(float*)"});
  made.launch(it, 7, 12);
  made.session.launchesSeen(made.launches);
  record::CopyCount copy;
  copy.process = it;
  copy.direction = COPY_DEVICE_TO_HOST;
  copy.bytes = 4096;
  copy.time_ns = 1000;
  made.session.copiesSeen({copy});
  record::DeviceUse device;
  device.total_bytes = 40ULL << 30;
  device.used_bytes = 3 << 20;
  device.processes = {{{42, 3 << 20}}};
  made.session.devicesSeen({made.now_ns, {device}});
  record::WatchedLibrary library;
  library.path = "/usr/lib/libcuda.so.1";
  model::Unwatched& unwatched = library.unwatched.emplace_back();
  unwatched.pid = 42;
  unwatched.function = "cuMemAlloc_v2";
  unwatched.figures = {model::Figures::kMemory};
  made.session.libraryWatched(library);
  made.session.unwatched(unwatched, made.now_ns);
  testing::QuietSource quiet;
  (void)made.session.finish(quiet);  // the unwatched rows find their process
  watch::MetricInputs inputs;
  inputs.session = &made.session;
  inputs.now_ns = made.now_ns;
  inputs.losses[LOSS_MEMORY_RING] = 1;
  inputs.recorder_cpu_seconds = 0.5;
  watch::ArenaFigures arena;
  arena.device = 0;
  arena.reserved_score = 41.5;
  arena.forecast = {{"10s", 42}, {"20s", 43}};
  arena.published = watch::PublishedForecast{.risk = analysis::Risk::kMedium,
                                             .warnings = {.worse = true},
                                             .confidence = 0.9,
                                             .slope = 0.25,
                                             .skill = -0.5};
  arena.growth_bytes_per_second = 1.5;
  inputs.arenas[it] = {arena};
  inputs.working_sets = {.window = "0.1",
                         .backend = "pte",
                         .processes = {{.pid = 42,
                                        .comm = "py \"thon\"\\",
                                        .rss_bytes = 8 << 20,
                                        .referenced_bytes = 2 << 20,
                                        .stall_seconds = 0.001,
                                        .error_bytes = 65536,
                                        .container = {"3f2a", "8d1f"}}},
                         .skipped = 1,
                         .cpu_seconds = 0.25};
  watch::MetricsMaker maker;
  return textOf(maker.make(inputs), is_otlp, made.now_ns);
}

base::Result<std::string> replayed(const std::string& path, bool is_otlp) {
  record::Session session(std::nullopt);
  watch::MetricInputs inputs;
  inputs.session = &session;
  watch::LiveArenas arenas;
  watch::MetricsMaker maker;
  std::string text;
  TG_RETURN_IF_ERROR(testing::replay(path, session, inputs.losses, kEventsPerLook, [&](int64_t ns) {
    inputs.now_ns = ns;
    arenas.look(session, ns);
    inputs.arenas = arenas.figures();
    text += textOf(maker.make(inputs), is_otlp, ns);
  }));
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_otlp = argc > 1 && std::string_view(argv[1]) == "otlp";
  base::Result<std::string> text = argc > 2 ? replayed(argv[2], is_otlp) : madeUp(is_otlp);
  if (!text.ok()) {
    std::fprintf(stderr, "make_metrics: %s\n", text.error().what.c_str());
    return 3;
  }
  const std::string& all = text.value();
  return std::fwrite(all.data(), 1, all.size(), stdout) == all.size() ? 0 : 1;
}
