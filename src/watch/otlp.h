// Metrics as the body of an OTLP/HTTP request: ExportMetricsServiceRequest in protobuf.
//
//   POST http://collector:4318/v1/metrics     Content-Type: application/x-protobuf
//   resource {service.name = "tidegauge"} ─ scope "tidegauge" ─ metric ─ data points with labels
//
// Counters are cumulative since `begin_ns`, so a lost push only loses time. Source:
// opentelemetry-proto 1.x, metrics/v1/metrics.proto (field numbers in otlp.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "watch/metrics.h"

namespace tidegauge::watch {

inline constexpr std::string_view kProtobufType = "application/x-protobuf";

struct OtlpOrigin {
  std::string host;      // host.name
  std::string version;   // of this program
  int64_t begin_ns = 0;  // start of the counters, since the epoch
};

std::string otlpRequest(const std::vector<Metric>& metrics, const OtlpOrigin& origin,
                        int64_t now_ns);

}  // namespace tidegauge::watch
