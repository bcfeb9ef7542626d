#include "watch/metrics.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/made_session.h"
#include "watch/prometheus_text.h"

namespace tidegauge::watch {
namespace {

using model::MemoryKind;
using support::MadeSession;

MetricInputs inputsOf(const MadeSession& made) {
  MetricInputs inputs;
  inputs.session = &made.session;
  inputs.now_ns = made.now_ns;
  return inputs;
}

// The sample whose line begins with `labels`: "name{pid=…}".
std::string textOf(const MadeSession& made, MetricsMaker& maker) {
  return prometheusText(maker.make(inputsOf(made)));
}
testing::AssertionResult has(const std::string& text, const std::string& line) {
  if (text.find(line + "\n") != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no line " << line << " in\n" << text;
}
size_t count(const std::string& text, const std::string& part) {
  size_t times = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++times;
  return times;
}

TEST(Metrics, ContainTheDriversFiguresAndTheUntrackedPart) {
  MadeSession made;
  uint32_t python = made.process(42, "python"), managed = made.process(43, "managed");
  made.allocate(python, MemoryKind::kDevice, 0x1000000, 2 * kMiB);
  made.allocate(managed, MemoryKind::kManaged, 0x1000000, 2 * kMiB);
  MetricsMaker maker;
  EXPECT_EQ(count(textOf(made, maker), "tidegauge_device_used_bytes"), 0U);
  record::DeviceUse first{0, "A", "GPU-A", 80 * kMiB, 9 * kMiB, {{{42, 5 * kMiB}, {43, 3 * kMiB}}}};
  record::DeviceUse second{1, "B", "GPU-B", 80 * kMiB, std::nullopt, {{{42, kMiB}}}};
  made.session.devicesSeen({made.now_ns, {first, second}});
  std::string text = textOf(made, maker);
  EXPECT_TRUE(has(text, R"(tidegauge_device_used_bytes{device="0"} 9437184)"));
  EXPECT_TRUE(has(text, R"(tidegauge_device_total_bytes{device="0"} 83886080)"));
  EXPECT_TRUE(has(text, R"(tidegauge_device_untracked_bytes{pid="42",comm="python"} 4194304)"));
  EXPECT_EQ(count(text, "tidegauge_device_used_bytes{"), 1U);
  EXPECT_EQ(count(text, "tidegauge_device_untracked_bytes{"), 1U);
}

TEST(Metrics, ContainMemoryByProcessDeviceAndKind) {
  MadeSession made;
  uint32_t it = made.process(42, "python");
  made.allocate(it, MemoryKind::kDevice, 0x1000000, 2 * kMiB);
  made.allocate(it, MemoryKind::kDevice, 0x2000000, 3 * kMiB);
  made.free(it, MemoryKind::kDevice, 0x2000000);
  made.allocate(it, MemoryKind::kPinnedHost, 0x5000000, kMiB);
  made.allocate(it, MemoryKind::kBlock, 0x1000000, 4000);
  made.allocate(it, MemoryKind::kDevice, 0, kMiB, 0, 2);  // out of memory
  MetricsMaker maker;
  std::string text = textOf(made, maker);
  std::string labels = R"({pid="42",comm="python",device="0")";
  EXPECT_TRUE(has(text, "tidegauge_device_memory_bytes" + labels + R"(,kind="device"} 2097152)"));
  EXPECT_TRUE(
      has(text, "tidegauge_host_memory_bytes" + labels + R"(,kind="pinned_host"} 1048576)"));
  EXPECT_TRUE(has(text, "tidegauge_peak_bytes" + labels + "} 5242880"));
  EXPECT_TRUE(has(text, "tidegauge_allocations_total" + labels + "} 2"));
  EXPECT_TRUE(has(text, "tidegauge_frees_total" + labels + "} 1"));
  EXPECT_TRUE(has(text, R"(tidegauge_failures_total{pid="42",comm="python",code="2"} 1)"));
  EXPECT_TRUE(has(text, "tidegauge_framework_active_bytes" + labels + "} 4000"));
  EXPECT_TRUE(has(text, R"(tidegauge_unfreed_at_exit_bytes_total{comm="python"} 0)"));
  EXPECT_TRUE(has(text, R"(tidegauge_events_lost_total{reason="memory_ring_full"} 0)"));
  EXPECT_TRUE(has(text, "# TYPE tidegauge_allocations_total counter"));
  EXPECT_TRUE(has(text, "# TYPE tidegauge_peak_bytes gauge"));
}

TEST(Metrics, EndedProcessesGoAfterFiveMinutes) {
  MadeSession made;
  uint32_t it = made.process(42, "python");
  made.allocate(it, MemoryKind::kDevice, 0x1000000, 2 * kMiB);
  made.end(it);
  MetricsMaker maker;
  made.now_ns += 299'000'000'000;
  std::string text = textOf(made, maker);
  EXPECT_TRUE(has(
      text, R"(tidegauge_device_memory_bytes{pid="42",comm="python",device="0",kind="device"} 0)"));
  EXPECT_TRUE(has(text, R"(tidegauge_unfreed_at_exit_bytes_total{comm="python"} 2097152)"));
  EXPECT_TRUE(has(text, "tidegauge_processes 0"));
  made.now_ns += 2'000'000'000;
  text = textOf(made, maker);
  EXPECT_EQ(count(text, "pid=\"42\""), 0U);
  EXPECT_TRUE(has(text, R"(tidegauge_unfreed_at_exit_bytes_total{comm="python"} 2097152)"))
      << "unfreed memory is reported permanently";
}

TEST(Metrics, OnePidAndNameIsReportedOnce) {
  MadeSession made;
  uint32_t old = made.process(42, "python");
  made.allocate(old, MemoryKind::kDevice, 0x1000000, 2 * kMiB);
  made.end(old);
  uint32_t fresh = made.process(42, "python");
  made.allocate(fresh, MemoryKind::kDevice, 0x1000000, 3 * kMiB);
  MetricsMaker maker;
  std::string text = textOf(made, maker);
  EXPECT_EQ(count(text, "\ntidegauge_device_memory_bytes{"), 1U);
  EXPECT_TRUE(has(
      text,
      R"(tidegauge_device_memory_bytes{pid="42",comm="python",device="0",kind="device"} 3145728)"));
}

TEST(Metrics, NamesFiftyKernelsAndNoCounterDecreases) {
  MadeSession made;
  uint32_t it = made.process(42, "python");
  for (uint64_t kernel = 1; kernel <= 60; ++kernel) {
    made.session.kernelNamed({it, kernel, 0, "k" + std::to_string(kernel)});
    made.launch(it, kernel, 100 * kernel);
  }
  made.session.launchesSeen(made.launches);
  MetricsMaker maker;
  std::string text = textOf(made, maker);
  std::string name = R"(tidegauge_kernel_launches_total{pid="42",comm="python",kernel=")";
  EXPECT_EQ(count(text, "\ntidegauge_kernel_launches_total{"), 51U);
  EXPECT_TRUE(has(text, name + R"(k60"} 6000)"));
  EXPECT_TRUE(has(text, name + R"(other"} 5500)"));  // k1 … k10
  EXPECT_EQ(count(text, "\"k10\""), 0U);
  // k1 becomes named, k11 is no longer named: earlier launches of k1 stay in "other", which never
  // decreases.
  made.launches = {};
  made.launch(it, 1, 50'000);
  made.session.launchesSeen(made.launches);
  text = textOf(made, maker);
  EXPECT_TRUE(has(text, name + R"(k1"} 50000)"));
  EXPECT_TRUE(has(text, name + R"(other"} 5500)"));
  EXPECT_EQ(count(text, "\"k11\""), 0U);
  // … and returns with its earlier launches and the new ones.
  made.launches = {};
  made.launch(it, 11, 60'000);
  made.session.launchesSeen(made.launches);
  text = textOf(made, maker);
  EXPECT_TRUE(has(text, name + R"(k11"} 61100)"));
}

TEST(Metrics, UnnamedKernelsAndFunctionsOfKernelsHaveNames) {
  MadeSession made;
  uint32_t it = made.process(42, "python");
  made.session.kernelNamed({it, 1, 0, "gemm"});
  made.session.kernelNamed({it, 2, 1, ""});
  EXPECT_EQ(record::kernelName(made.session.processes()[it], 2), "gemm");
  EXPECT_EQ(record::kernelName(made.session.processes()[it], 0x7f1), "kernel at 0x7f1 (no name)");
}

// An unloaded module removes its kernels, and the next one may reuse their handles.
TEST(Metrics, AHandleThatIsGivenOutAgainIsAnotherKernel) {
  MadeSession made;
  uint32_t it = made.process(42, "python");
  auto launch = [&](uint64_t times) {
    made.launches = {};
    made.launch(it, 1, times);
    made.session.launchesSeen(made.launches);
  };
  made.session.kernelNamed({it, 1, 0, "gemm"});
  launch(700);
  made.session.kernelNamed({it, 1, 0, "relu"});
  launch(30);
  made.session.kernelNamed({it, 1, 99, ""});  // made from a kernel without a name
  launch(4);
  MetricsMaker maker;
  std::string text = textOf(made, maker);
  std::string name = R"(tidegauge_kernel_launches_total{pid="42",comm="python",kernel=")";
  EXPECT_TRUE(has(text, name + R"(gemm"} 700)"));
  EXPECT_TRUE(has(text, name + R"(relu"} 30)"));
  EXPECT_TRUE(has(text, name + R"x(kernel at 0x1 (no name)"} 4)x"));
  EXPECT_EQ(made.session.keeps().kernels, 1U);
}

TEST(Metrics, ALibraryThatIsWatchedAgainIsCountedOnce) {
  MadeSession made;
  record::WatchedLibrary library;
  library.path = "/usr/lib/libcuda.so.1";
  library.file = {8, 15};
  library.unwatched.resize(3);
  for (int i = 0; i < 5; ++i) made.session.libraryWatched(library);
  library.file = {8, 16};  // another container's
  made.session.libraryWatched(library);
  MetricsMaker maker;
  EXPECT_TRUE(
      has(textOf(made, maker), R"(tidegauge_unwatched_functions{library="libcuda.so.1"} 6)"));
  EXPECT_EQ(made.session.libraries().size(), 2U);
}

TEST(Metrics, CopiesAreTimedWhereTheTimeIsTheirs) {
  MadeSession made;
  uint32_t it = made.process(42, "python");
  record::CopyCount timed, submitted;
  timed.process = submitted.process = it;
  timed.direction = submitted.direction = COPY_HOST_TO_DEVICE;
  timed.bytes = 100;
  timed.time_ns = 1'500'000'000;
  submitted.submitted = true;
  submitted.bytes = 11;
  submitted.time_ns = 7;
  // Calls that wait, but not for a copy within the device; those by the pointers may be such.
  record::CopyCount within = timed, by_pointers = timed;
  within.direction = COPY_DEVICE_TO_DEVICE;
  by_pointers.direction = COPY_UNKNOWN;
  made.session.copiesSeen({timed, submitted, within, by_pointers});
  MetricsMaker maker;
  std::string text = textOf(made, maker);
  std::string labels = R"({pid="42",comm="python",direction="host_to_device"})";
  EXPECT_TRUE(has(text, "tidegauge_copy_bytes_total" + labels + " 111"));
  EXPECT_TRUE(has(text, "tidegauge_copy_seconds_total" + labels + " 1.5"));
  EXPECT_TRUE(has(
      text,
      R"(tidegauge_copy_bytes_total{pid="42",comm="python",direction="device_to_device"} 100)"));
  size_t first = text.find("\ntidegauge_copy_seconds_total{");
  EXPECT_EQ(text.find("\ntidegauge_copy_seconds_total{", first + 1), std::string::npos) << text;
}

TEST(Metrics, LabelsStayFewWhateverAProgramDoes) {
  MadeSession made;
  uint32_t it = made.process(42, "python");
  for (int32_t code = 1; code <= 300; ++code)
    made.allocate(it, MemoryKind::kDevice, 0, kMiB, 0, code);
  for (uint32_t i = 0; i < 300; ++i) {
    uint32_t other = made.process(1000 + i, "p" + std::to_string(i));
    made.allocate(other, MemoryKind::kDevice, 0x1000000, kMiB);
    made.end(other);
  }
  MetricsMaker maker;
  std::string text = textOf(made, maker);
  EXPECT_EQ(count(text, "\ntidegauge_failures_total{"), 21U);
  EXPECT_TRUE(has(text, R"(tidegauge_failures_total{pid="42",comm="python",code="other"} 280)"));
  EXPECT_EQ(count(text, "\ntidegauge_unfreed_at_exit_bytes_total{"), 101U);
}

TEST(Metrics, ProcessesWithoutCallsAreNotReported) {
  MadeSession made;
  made.process(7, "ls");
  MetricsMaker maker;
  std::string text = textOf(made, maker);
  EXPECT_EQ(count(text, "\"ls\""), 0U) << text;
  EXPECT_TRUE(has(text, "tidegauge_processes 0"));
}

TEST(Metrics, ArenasAreReportedUnchanged) {
  MadeSession made;
  uint32_t it = made.process(42, "python");
  made.allocate(it, MemoryKind::kDevice, 0x1000000, kMiB);
  MetricInputs inputs = inputsOf(made);
  ArenaFigures arena;
  arena.device = 0;
  arena.reserved_score = 41.5;
  arena.stranded_bytes = 7;
  arena.forecast = {{"10s", 42}};
  arena.published = PublishedForecast{.risk = analysis::Risk::kHigh,
                                      .warnings = {.jump = true},
                                      .confidence = 0.875,
                                      .slope = -0.5,
                                      .skill = std::nullopt};
  arena.growth_bytes_per_second = 0.25;
  inputs.arenas[it] = {arena};
  MetricsMaker maker;
  std::string text = prometheusText(maker.make(inputs));
  std::string labels = R"({pid="42",comm="python",device="0")";
  EXPECT_TRUE(has(text, "tidegauge_fragmentation_score" + labels + R"(,arena="reserved"} 41.5)"));
  EXPECT_TRUE(has(text, "tidegauge_forecast_score" + labels + R"(,horizon="10s"} 42)"));
  EXPECT_TRUE(has(text, "tidegauge_growth_bytes_per_second" + labels + "} 0.25"));
  EXPECT_TRUE(has(text, "tidegauge_stranded_bytes" + labels + "} 7"));
  EXPECT_TRUE(has(text, "tidegauge_forecast_risk" + labels + "} 3"));
  EXPECT_TRUE(has(text, "tidegauge_forecast_confidence" + labels + "} 0.875"));
  EXPECT_TRUE(has(text, "tidegauge_forecast_slope" + labels + "} -0.5"));
  EXPECT_TRUE(has(text, "tidegauge_forecast_warning" + labels + R"(,kind="worse"} 0)"));
  EXPECT_TRUE(has(text, "tidegauge_forecast_warning" + labels + R"(,kind="jump"} 1)"));
  EXPECT_TRUE(has(text, "tidegauge_forecast_warning" + labels + R"(,kind="trend"} 0)"));
  EXPECT_FALSE(has(text, "tidegauge_forecast_skill")) << "unknown: nothing changed so far";
  inputs.arenas[it][0].published->skill = 0.25;
  EXPECT_TRUE(
      has(prometheusText(maker.make(inputs)), "tidegauge_forecast_skill" + labels + "} 0.25"));
  inputs.arenas[it][0].has_allocator = false;
  text = prometheusText(maker.make(inputs));
  for (const char* name : {"tidegauge_fragmentation_score{", "tidegauge_forecast_score{",
                           "tidegauge_stranded_bytes{", "tidegauge_reserved_unused_bytes{"})
    EXPECT_FALSE(has(text, name)) << name;
  EXPECT_TRUE(has(text, "tidegauge_growth_bytes_per_second" + labels + "} 0.25"));
}

TEST(Metrics, WorkingSetsAreReportedUnchanged) {
  MadeSession made;
  MetricInputs inputs = inputsOf(made);
  MetricsMaker maker;
  EXPECT_EQ(count(prometheusText(maker.make(inputs)), "tidegauge_wss"), 0U);  // none measured
  inputs.working_sets = {.window = "0.1",
                         .backend = "pte",
                         .processes = {{42, "db\x01", 8 * kMiB, 2 * kMiB, 0, 0.001}},
                         .skipped = 3,
                         .cpu_seconds = 0.25};
  std::string text = prometheusText(maker.make(inputs));
  std::string labels = R"({pid="42",comm="db·",window="0.1"} )";
  EXPECT_TRUE(has(text, "tidegauge_wss_referenced_bytes" + labels + "2097152")) << text;
  EXPECT_TRUE(has(text, "tidegauge_wss_cold_bytes" + labels + "6291456"));
  EXPECT_TRUE(has(text, "tidegauge_wss_ratio" + labels + "0.25"));
  EXPECT_TRUE(has(text, R"(tidegauge_wss_measure_stall_seconds{pid="42",comm="db·"} 0.001)"));
  EXPECT_TRUE(has(text, "tidegauge_wss_skipped_total 3"));
  EXPECT_TRUE(has(text, "tidegauge_wss_measure_cpu_seconds_total 0.25"));
  EXPECT_TRUE(has(text, R"(tidegauge_wss_backend_info{backend="pte"} 1)"));
}

TEST(Metrics, WorkingSetsOfContainersAndSamples) {
  MadeSession made;
  MetricInputs inputs = inputsOf(made);
  MetricsMaker maker;
  inputs.working_sets = {.window = "0.1",
                         .backend = "pte",
                         .processes = {{.pid = 42,
                                        .comm = "db",
                                        .rss_bytes = 8 * kMiB,
                                        .referenced_bytes = 2 * kMiB,
                                        .reclaimed_bytes = kMiB,
                                        .error_bytes = 65536,
                                        .is_at_least = true,
                                        .container = {"3f2a", "8d1f"}}}};
  std::string text = prometheusText(maker.make(inputs));
  std::string labels = R"({pid="42",comm="db",pod="3f2a",container="8d1f",window="0.1"} )";
  EXPECT_TRUE(has(text, "tidegauge_wss_referenced_bytes" + labels + "3145728")) << text;
  EXPECT_FALSE(has(text, "tidegauge_wss_cold_bytes{")) << text;
  EXPECT_TRUE(has(text, "tidegauge_wss_error_bytes" + labels + "65536")) << text;
  EXPECT_TRUE(has(text, "tidegauge_wss_at_least" + labels + "1")) << text;
}

TEST(PrometheusText, EscapesWhatNamesMayHold) {
  Metric metric{"m", "a\\b\nc", MetricType::kGauge, "1", false, {}};
  metric.samples = {{{{"l", "a\\b\"c\nd"}}, 0.1}, {{}, 1e300}, {{}, -3}};
  EXPECT_EQ(prometheusText({metric}),
            "# HELP m a\\\\b\\nc\n# TYPE m gauge\n"
            "m{l=\"a\\\\b\\\"c\\nd\"} 0.1\nm 1e+300\nm -3\n");
  MadeSession made;
  uint32_t it = made.process(1, "a\nb\x1b\xff");
  made.allocate(it, MemoryKind::kDevice, 0x1000000, 1);
  MetricsMaker maker;
  EXPECT_EQ(count(textOf(made, maker), "\x1b"), 0U);
}

}  // namespace
}  // namespace tidegauge::watch
