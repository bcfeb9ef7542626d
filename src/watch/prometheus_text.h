// Metrics in Prometheus' text format (version 0.0.4).
//
//   # HELP tidegauge_peak_bytes Most device memory that was live at once
//   # TYPE tidegauge_peak_bytes gauge
//   tidegauge_peak_bytes{pid="42",comm="a \"b\"",device="0"} 2097152
//
// Source: https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "watch/metrics.h"

namespace tidegauge::record {

inline constexpr std::string_view kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";

std::string prometheusText(const std::vector<Metric>& metrics);

}  // namespace tidegauge::record
