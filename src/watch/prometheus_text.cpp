#include "watch/prometheus_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace tidegauge::watch {
namespace {

// For label values; HELP texts need no escaped quotes.
void addEscaped(std::string& text, std::string_view value, bool quotes) {
  for (char c : value) {
    if (c == '\\')
      text += "\\\\";
    else if (c == '\n')
      text += "\\n";
    else if (c == '"' && quotes)
      text += "\\\"";
    else
      text += c;
  }
}

void addValue(std::string& text, double value) {
  constexpr double kExact = 9e15;  // smaller whole numbers are exact without an exponent
  if (std::trunc(value) == value && std::abs(value) < kExact)
    fmt::format_to(std::back_inserter(text), "{}", static_cast<int64_t>(value));
  else if (std::isfinite(value))
    fmt::format_to(std::back_inserter(text), "{}", value);
  else
    text += std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

}  // namespace

std::string prometheusText(const std::vector<Metric>& metrics) {
  std::string text;
  for (const Metric& metric : metrics) {
    text += "# HELP " + metric.name + " ";
    addEscaped(text, metric.help, false);
    text += "\n# TYPE " + metric.name +
            (metric.type == MetricType::kCounter ? " counter\n" : " gauge\n");
    for (const Sample& sample : metric.samples) {
      text += metric.name;
      for (size_t i = 0; i < sample.labels.size(); ++i) {
        text += (i == 0 ? "{" : ",") + sample.labels[i].first + "=\"";
        addEscaped(text, sample.labels[i].second, true);
        text += "\"";
      }
      text += sample.labels.empty() ? " " : "} ";
      addValue(text, sample.value);
      text += "\n";
    }
  }
  return text;
}

}  // namespace tidegauge::watch
