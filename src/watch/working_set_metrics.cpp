#include "watch/working_set_metrics.h"

#include <algorithm>

#include "base/text_layout.h"
#include "watch/metrics.h"

namespace tidegauge::watch {

std::vector<Metric> workingSetMetrics(const WorkingSetFigures& figures) {
  Metric referenced{"tidegauge_wss_referenced_bytes",
                    "Host memory that a process touched in its last window (seconds)",
                    MetricType::kGauge,
                    "By",
                    true,
                    {}};
  Metric cold{"tidegauge_wss_cold_bytes",
              "Resident memory that was not touched in the last window",
              MetricType::kGauge,
              "By",
              true,
              {}};
  Metric ratio{"tidegauge_wss_ratio",
               "Touched memory as a share of the resident memory",
               MetricType::kGauge,
               "1",
               false,
               {}};
  Metric error{"tidegauge_wss_error_bytes",
               "Half of the 95 % confidence interval of the touched memory; 0: all pages were read",
               MetricType::kGauge,
               "By",
               true,
               {}};
  Metric at_least{"tidegauge_wss_at_least",
                  "1: the touched memory is a lower bound",
                  MetricType::kGauge,
                  "1",
                  true,
                  {}};
  Metric stall{"tidegauge_wss_measure_stall_seconds",
               "Longest time for which mmap and munmap of a process waited in its last window",
               MetricType::kGauge,
               "s",
               false,
               {}};
  Metric skipped{
      "tidegauge_wss_skipped_total",
      "Windows that were skipped: a process would have waited too long, or another tidegauge "
      "measured it",
      MetricType::kCounter,
      "1",
      true,
      {}};
  Metric cpu{"tidegauge_wss_measure_cpu_seconds_total",
             "CPU time of the measurement of working sets",
             MetricType::kCounter,
             "s",
             false,
             {}};
  Metric info{"tidegauge_wss_backend_info",
              "1: the back-end of the last measurement",
              MetricType::kGauge,
              "1",
              true,
              {}};
  if (figures.backend.empty() && figures.skipped == 0) return {};
  for (const WorkingSetFigures::Process& process : figures.processes) {
    Labels labels = {{"pid", std::to_string(process.pid)}, {"comm", base::printable(process.comm)}};
    if (!process.container.pod.empty()) labels.emplace_back("pod", process.container.pod);
    if (!process.container.container.empty())
      labels.emplace_back("container", process.container.container);
    stall.samples.push_back({labels, process.stall_seconds});
    labels.emplace_back("window", figures.window);
    auto rss = static_cast<double>(process.rss_bytes),
         touched = static_cast<double>(process.referenced_bytes);
    referenced.samples.push_back({labels, touched + static_cast<double>(process.reclaimed_bytes)});
    error.samples.push_back({labels, process.error_bytes});
    at_least.samples.push_back({labels, process.is_at_least ? 1.0 : 0.0});
    if (process.is_at_least) continue;  // what seems cold may have been touched
    cold.samples.push_back({labels, std::max(0.0, rss - touched)});
    if (rss > 0) ratio.samples.push_back({labels, touched / rss});
  }
  skipped.samples.push_back({{}, static_cast<double>(figures.skipped)});
  cpu.samples.push_back({{}, figures.cpu_seconds});
  if (!figures.backend.empty()) info.samples.push_back({{{"backend", figures.backend}}, 1});
  std::vector<Metric> metrics;
  for (Metric* metric :
       {&referenced, &error, &at_least, &cold, &ratio, &stall, &skipped, &cpu, &info})
    if (!metric->samples.empty()) metrics.push_back(std::move(*metric));
  return metrics;
}

}  // namespace tidegauge::watch
