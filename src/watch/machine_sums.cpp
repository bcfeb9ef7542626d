#include "watch/machine_sums.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tidegauge::watch {
namespace {

constexpr std::array<std::string_view, 6> kPersonal = {"pid",     "comm", "kernel",
                                                       "library", "pod",  "container"};
// Gauges of a process that add up. Others of a process are left out, new ones too.
constexpr std::array<std::string_view, 12> kSums = {"tidegauge_device_untracked_bytes",
                                                    "tidegauge_device_memory_bytes",
                                                    "tidegauge_host_memory_bytes",
                                                    "tidegauge_framework_active_bytes",
                                                    "tidegauge_reserved_unused_bytes",
                                                    "tidegauge_stranded_bytes",
                                                    "tidegauge_growth_bytes_per_second",
                                                    "tidegauge_unwatched_functions",
                                                    "tidegauge_wss_referenced_bytes",
                                                    "tidegauge_wss_cold_bytes",
                                                    "tidegauge_wss_at_least",
                                                    "tidegauge_incomplete"};
// 1 if it is of anyone.
constexpr std::array<std::string_view, 2> kOfAnyone = {"tidegauge_incomplete",
                                                       "tidegauge_wss_at_least"};

bool isPersonal(const std::pair<std::string, std::string>& label) {
  return std::find(kPersonal.begin(), kPersonal.end(), label.first) != kPersonal.end();
}

Labels withoutPersons(const Labels& labels) {
  Labels kept;
  for (const auto& label : labels)
    if (!isPersonal(label)) kept.push_back(label);
  return kept;
}

bool concernsPersons(const Metric& metric) {
  return std::any_of(metric.samples.begin(), metric.samples.end(), [](const Sample& sample) {
    return std::any_of(sample.labels.begin(), sample.labels.end(), isPersonal);
  });
}

bool isOfAnyone(const Metric& metric) {
  return std::find(kOfAnyone.begin(), kOfAnyone.end(), metric.name) != kOfAnyone.end();
}

void sum(Metric& metric) {
  std::map<Labels, double> sums;
  for (const Sample& sample : metric.samples) sums[withoutPersons(sample.labels)] += sample.value;
  metric.samples.clear();
  for (const auto& [labels, value] : sums)
    metric.samples.push_back({labels, isOfAnyone(metric) ? std::min(value, 1.0) : value});
}

// A kernel whose name comes late changes its label: what is counted is the sum of its process.
void joinKernels(Metric& metric) {
  std::map<Labels, double> sums;
  for (const Sample& sample : metric.samples) {
    Labels labels = sample.labels;
    std::erase_if(labels, [](const auto& label) { return label.first == "kernel"; });
    sums[labels] += sample.value;
  }
  metric.samples.clear();
  for (const auto& [labels, value] : sums) metric.samples.push_back({labels, value});
}

}  // namespace

// A value below the last one is a new program's under the same labels: it counted from 0.
void MachineSums::count(Metric& metric) {
  joinKernels(metric);
  for (const Sample& sample : metric.samples) {
    double& last = last_[{metric.name, sample.labels}];
    double more = sample.value >= last ? sample.value - last : sample.value;
    last = sample.value;
    total_[{metric.name, withoutPersons(sample.labels)}] += more;
  }
  std::map<Labels, bool> present;
  for (const Sample& sample : metric.samples) present[sample.labels] = true;
  std::erase_if(last_, [&](const auto& entry) {
    return entry.first.first == metric.name && !present.contains(entry.first.second);
  });
}

std::vector<Metric> MachineSums::take(std::vector<Metric> metrics) {
  std::vector<Metric> kept;
  std::erase_if(last_, [&](const auto& entry) {
    return std::none_of(metrics.begin(), metrics.end(),
                        [&](const Metric& metric) { return metric.name == entry.first.first; });
  });
  for (Metric& metric : metrics) {
    if (metric.type == MetricType::kCounter && concernsPersons(metric)) {
      count(metric);
      metric.samples.clear();
      counters_.insert_or_assign(metric.name, metric);
      continue;
    }
    if (concernsPersons(metric)) {
      if (std::find(kSums.begin(), kSums.end(), metric.name) == kSums.end()) continue;
      sum(metric);
    }
    kept.push_back(std::move(metric));
  }
  // Also those of which no process has a sample any more.
  for (auto& [name, metric] : counters_) {
    Metric whole = metric;
    for (const auto& [series, value] : total_)
      if (series.first == name) whole.samples.push_back({series.second, value});
    kept.push_back(std::move(whole));
  }
  return kept;
}

}  // namespace tidegauge::watch
