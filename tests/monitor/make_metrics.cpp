// Prints the metrics of a made-up session: make_metrics prometheus | otlp. For the tests by promtool
// and protoc, which need no recorder to run.
#include <cstdio>
#include <string_view>

#include "support/made_session.h"
#include "watch/metrics.h"
#include "watch/otlp.h"
#include "watch/prometheus_text.h"

int main(int argc, char** argv) {
  using namespace tidegauge;
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
  record::MetricInputs inputs;
  inputs.session = &made.session;
  inputs.now_ns = made.now_ns;
  inputs.recorder_cpu_seconds = 0.5;
  record::ArenaFigures arena;
  arena.device = 0;
  arena.reserved_score = 41.5;
  arena.forecast = {{"10s", 42}, {"20s", 43}};
  arena.growth_bytes_per_second = 1.5;
  inputs.arenas[it] = {arena};
  inputs.working_sets = {.window = "0.1",
                         .backend = "pte",
                         .processes = {{42, "py \"thon\"\\", 8 << 20, 2 << 20, 0.001}},
                         .skipped = 1,
                         .cpu_seconds = 0.25};
  record::MetricsMaker maker;
  auto metrics = maker.make(inputs);
  std::string text = argc > 1 && std::string_view(argv[1]) == "otlp"
                         ? record::otlpRequest(metrics, {"a-host", "0.1.0", 5}, made.now_ns)
                         : record::prometheusText(metrics);
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
