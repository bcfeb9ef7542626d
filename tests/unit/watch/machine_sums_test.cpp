#include "watch/machine_sums.h"

#include <gtest/gtest.h>

#include <optional>

namespace tidegauge::watch {
namespace {

Metric metricOf(std::string name, MetricType type, std::vector<Sample> samples) {
  return {std::move(name), "words", type, "1", true, std::move(samples)};
}
Labels of(const char* pid, const char* comm, Labels more = {}) {
  Labels labels = {{"pid", pid}, {"comm", comm}};
  labels.insert(labels.end(), more.begin(), more.end());
  return labels;
}
// The value of a metric's series, if it is there.
std::optional<double> valueOf(const std::vector<Metric>& metrics, const std::string& name,
                              const Labels& labels) {
  for (const Metric& metric : metrics)
    for (const Sample& sample : metric.samples)
      if (metric.name == name && sample.labels == labels) return sample.value;
  return std::nullopt;
}

TEST(MachineSums, AddsGaugesByTheLabelsThatRemain) {
  MachineSums sums;
  Labels first = {{"device", "0"}}, second = {{"device", "1"}};
  auto now = sums.take({metricOf(
      "tidegauge_device_memory_bytes", MetricType::kGauge,
      {{of("42", "a", first), 3}, {of("43", "b", first), 4}, {of("43", "b", second), 5}})});
  ASSERT_EQ(now.size(), 1U);
  EXPECT_EQ(now[0].samples.size(), 2U);
  EXPECT_EQ(valueOf(now, "tidegauge_device_memory_bytes", first), 7);
  EXPECT_EQ(valueOf(now, "tidegauge_device_memory_bytes", second), 5);
}

TEST(MachineSums, CountsLaunchesOnceIfAKernelGetsItsNameLate) {
  MachineSums sums;
  const char* name = "tidegauge_kernel_launches_total";
  auto named = [](const char* kernel) { return of("42", "a", {{"kernel", kernel}}); };
  (void)sums.take({metricOf(name, MetricType::kCounter, {{named("0x7"), 30}, {named("b"), 5}})});
  auto now =
      sums.take({metricOf(name, MetricType::kCounter, {{named("one"), 40}, {named("b"), 5}})});
  EXPECT_EQ(valueOf(now, name, {}), 45);
}

TEST(MachineSums, LeavesOutWhatHasNoSum) {
  MachineSums sums;
  auto now = sums.take(
      {metricOf("tidegauge_peak_bytes", MetricType::kGauge, {{of("42", "a"), 3}}),
       metricOf("tidegauge_made_up_by_a_later_version", MetricType::kGauge, {{of("42", "a"), 3}}),
       metricOf("tidegauge_processes", MetricType::kGauge, {{{}, 2}}),
       metricOf("tidegauge_device_used_bytes", MetricType::kGauge, {{{{"device", "0"}}, 9}})});
  ASSERT_EQ(now.size(), 2U);
  EXPECT_EQ(valueOf(now, "tidegauge_processes", {}), 2);
  EXPECT_EQ(valueOf(now, "tidegauge_device_used_bytes", {{"device", "0"}}), 9);
}

TEST(MachineSums, SayIfAnyFigureIsALowerBound) {
  MachineSums sums;
  Labels window = {{"window", "0.1"}};
  auto now = sums.take(
      {metricOf("tidegauge_wss_at_least", MetricType::kGauge,
                {{of("42", "a", {{"pod", "p"}, {"window", "0.1"}}), 1},
                 {of("43", "b", window), 1},
                 {of("44", "c", window), 0}}),
       metricOf("tidegauge_wss_error_bytes", MetricType::kGauge, {{of("42", "a", window), 5}})});
  ASSERT_EQ(now.size(), 1U);
  EXPECT_EQ(valueOf(now, "tidegauge_wss_at_least", window), 1);
}

TEST(MachineSums, NameNoProcessKernelOrLibrary) {
  MachineSums sums;
  auto now = sums.take({metricOf("tidegauge_kernel_launches_total", MetricType::kCounter,
                                 {{of("42", "a", {{"kernel", "secret"}}), 3},
                                  {of("42", "a", {{"kernel", "x"}}), 4}}),
                        metricOf("tidegauge_unfreed_at_exit_bytes_total", MetricType::kCounter,
                                 {{{{"comm", "a"}}, 10}, {{{"comm", "b"}}, 20}}),
                        metricOf("tidegauge_unwatched_functions", MetricType::kGauge,
                                 {{{{"library", "libcuda.so.1"}}, 1}, {{{"library", "a"}}, 2}}),
                        metricOf("tidegauge_incomplete", MetricType::kGauge,
                                 {{of("42", "a", {{"figures", "memory"}}), 1},
                                  {of("43", "b", {{"figures", "memory"}}), 1}})});
  EXPECT_EQ(valueOf(now, "tidegauge_kernel_launches_total", {}), 7);
  EXPECT_EQ(valueOf(now, "tidegauge_unfreed_at_exit_bytes_total", {}), 30);
  EXPECT_EQ(valueOf(now, "tidegauge_unwatched_functions", {}), 3);
  EXPECT_EQ(valueOf(now, "tidegauge_incomplete", {{"figures", "memory"}}), 1);
  for (const Metric& metric : now)
    for (const Sample& sample : metric.samples)
      for (const auto& [name, value] : sample.labels) EXPECT_EQ(name, "figures");
}

TEST(MachineSums, KeepWhatEndedProcessesHadCounted) {
  MachineSums sums;
  const char* name = "tidegauge_allocations_total";
  auto look = [&](std::vector<Sample> samples) {
    std::vector<Metric> metrics;
    if (!samples.empty()) metrics.push_back(metricOf(name, MetricType::kCounter, samples));
    return valueOf(sums.take(std::move(metrics)), name, {});
  };
  EXPECT_EQ(look({{of("42", "a"), 10}, {of("43", "b"), 5}}), 15);
  EXPECT_EQ(look({{of("42", "a"), 11}}), 16);  // 43 is gone
  EXPECT_EQ(look({}), 16);                     // both are
  EXPECT_EQ(look({{of("42", "a"), 2}}), 18);   // another process 42
  EXPECT_EQ(look({{of("42", "a"), 1}}), 19);   // and another, at once
}

}  // namespace
}  // namespace tidegauge::watch
