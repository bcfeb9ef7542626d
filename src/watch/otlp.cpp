#include "watch/otlp.h"

#include <protozero/pbf_writer.hpp>

namespace tidegauge::watch {
namespace {

using protozero::pbf_writer;

// opentelemetry/proto/collector/metrics/v1, metrics/v1, resource/v1, common/v1
enum : uint32_t {
  kRequestResourceMetrics = 1,
  kResourceMetricsResource = 1,
  kResourceMetricsScopeMetrics = 2,
  kResourceAttributes = 1,
  kScopeMetricsScope = 1,
  kScopeMetricsMetrics = 2,
  kScopeName = 1,
  kScopeVersion = 2,
  kMetricName = 1,
  kMetricDescription = 2,
  kMetricUnit = 3,
  kMetricGauge = 5,
  kMetricSum = 7,
  kDataPoints = 1,
  kSumTemporality = 2,
  kSumIsMonotonic = 3,
  kPointBegin = 2,
  kPointTime = 3,
  kPointDouble = 4,
  kPointInteger = 6,
  kPointAttributes = 7,
  kKey = 1,
  kValue = 2,
  kValueString = 1,
};
constexpr int32_t kCumulative = 2;

void addAttribute(pbf_writer& to, uint32_t tag, std::string_view key, std::string_view value) {
  pbf_writer attribute(to, tag);
  attribute.add_string(kKey, key.data(), key.size());
  pbf_writer any(attribute, kValue);
  any.add_string(kValueString, value.data(), value.size());
}

void addPoint(pbf_writer& data, const Metric& metric, const Sample& sample, int64_t begin_ns,
              int64_t now_ns) {
  pbf_writer point(data, kDataPoints);
  if (metric.type == MetricType::kCounter)
    point.add_fixed64(kPointBegin, static_cast<uint64_t>(begin_ns));
  point.add_fixed64(kPointTime, static_cast<uint64_t>(now_ns));
  if (metric.is_whole)
    point.add_sfixed64(kPointInteger, static_cast<int64_t>(sample.value));
  else
    point.add_double(kPointDouble, sample.value);
  for (const auto& [name, value] : sample.labels)
    addAttribute(point, kPointAttributes, name, value);
}

void addMetric(pbf_writer& scope, const Metric& metric, int64_t begin_ns, int64_t now_ns) {
  pbf_writer message(scope, kScopeMetricsMetrics);
  message.add_string(kMetricName, metric.name);
  message.add_string(kMetricDescription, metric.help);
  message.add_string(kMetricUnit, metric.unit);
  bool is_counter = metric.type == MetricType::kCounter;
  pbf_writer data(message, is_counter ? kMetricSum : kMetricGauge);
  for (const Sample& sample : metric.samples) addPoint(data, metric, sample, begin_ns, now_ns);
  if (!is_counter) return;
  data.add_enum(kSumTemporality, kCumulative);
  data.add_bool(kSumIsMonotonic, true);
}

}  // namespace

std::string otlpRequest(const std::vector<Metric>& metrics, const OtlpOrigin& origin,
                        int64_t now_ns) {
  std::string bytes;
  pbf_writer request(bytes);
  pbf_writer resource_metrics(request, kRequestResourceMetrics);
  {
    pbf_writer resource(resource_metrics, kResourceMetricsResource);
    addAttribute(resource, kResourceAttributes, "service.name", "tidegauge");
    addAttribute(resource, kResourceAttributes, "service.version", origin.version);
    addAttribute(resource, kResourceAttributes, "host.name", origin.host);
  }
  {
    pbf_writer scope_metrics(resource_metrics, kResourceMetricsScopeMetrics);
    {
      pbf_writer scope(scope_metrics, kScopeMetricsScope);
      scope.add_string(kScopeName, "tidegauge");
      scope.add_string(kScopeVersion, origin.version);
    }
    for (const Metric& metric : metrics) addMetric(scope_metrics, metric, origin.begin_ns, now_ns);
  }
  // Inner writers are complete when they are destroyed; the outermost is committed here.
  resource_metrics.commit();
  return bytes;
}

}  // namespace tidegauge::watch
