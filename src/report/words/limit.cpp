#include "report/words/limit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/sizes.h"

namespace tidegauge::report {
namespace {

constexpr std::array<std::string_view, 6> kOps = {">", ">=", "<", "<=", "==", "!="};

std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::optional<double> numberOf(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// False if the metric has another unit.
bool readValue(LimitUnit unit, std::string_view text, Limit& limit) {
  bool percent = text.ends_with('%');
  std::optional<double> value;
  if (percent && (unit == LimitUnit::kShare || unit == LimitUnit::kBytesOrPercent)) {
    value = numberOf(trimmed(text.substr(0, text.size() - 1)));
    limit.percent = unit == LimitUnit::kBytesOrPercent;
    if (value && unit == LimitUnit::kShare) *value /= 100;
  } else if (unit == LimitUnit::kBytes || unit == LimitUnit::kBytesOrPercent) {
    std::optional<uint64_t> bytes = base::parseSize(text);
    if (bytes) value = static_cast<double>(*bytes);
  } else {
    value = numberOf(text);
  }
  if (!value || (unit != LimitUnit::kNumber && *value < 0)) return false;
  limit.value = *value;
  return true;
}

std::string_view exampleOf(LimitUnit unit) {
  constexpr std::array<std::string_view, 4> kExamples = {"60", "2GiB", "30%", "1%"};
  return kExamples[static_cast<size_t>(unit)];
}

std::string_view formOf(LimitUnit unit) {
  constexpr std::array<std::string_view, 4> kForms = {
      "a number, such as 60", "a size, such as 2GiB", "a share, such as 0.3 or 30%",
      "a size, such as 100MiB, or a percentage, such as 1%"};
  return kForms[static_cast<size_t>(unit)];
}

base::Error unusable(std::string_view text, std::string hint) {
  return {base::ErrorKind::kUsage,
          fmt::format("--fail-on needs a metric, a comparison and a value, not “{}”", text),
          {},
          std::move(hint)};
}

}  // namespace

base::Result<Limit> readLimit(std::string_view text, std::span<const LimitMetric> metrics) {
  size_t at = text.find_first_of("<>=!");
  if (at == std::string_view::npos) {
    return unusable(text, fmt::format("Write, for example, {}>{}.", metrics.front().name,
                                      exampleOf(metrics.front().unit)));
  }
  size_t end = at + (at + 1 < text.size() && text[at + 1] == '=' ? 2 : 1);
  Limit limit{.text = std::string(text), .metric = std::string(trimmed(text.substr(0, at)))};
  auto metric = std::find_if(metrics.begin(), metrics.end(),
                             [&](const LimitMetric& known) { return known.name == limit.metric; });
  if (metric == metrics.end()) {
    return unusable(text, fmt::format("The metrics are: {}.", fmt::join(namesOf(metrics), ", ")));
  }
  limit.index = static_cast<size_t>(metric - metrics.begin());
  auto op = std::find(kOps.begin(), kOps.end(), text.substr(at, end - at));
  if (op == kOps.end()) {
    return unusable(text, fmt::format("The comparisons are: {}.", fmt::join(kOps, ", ")));
  }
  limit.op = static_cast<Limit::Op>(op - kOps.begin());
  if (!readValue(metric->unit, trimmed(text.substr(end)), limit)) {
    return unusable(text, fmt::format("Compare {} with {}.", metric->name, formOf(metric->unit)));
  }
  return limit;
}

bool holds(const Limit& limit, double measured) {
  switch (limit.op) {
    case Limit::Op::kMore:
      return measured > limit.value;
    case Limit::Op::kAtLeast:
      return measured >= limit.value;
    case Limit::Op::kLess:
      return measured < limit.value;
    case Limit::Op::kAtMost:
      return measured <= limit.value;
    case Limit::Op::kEqual:
      return measured == limit.value;
    case Limit::Op::kNotEqual:
      return measured != limit.value;
  }
  return false;
}

std::string finding(const Limit& limit, std::string_view measured) {
  return fmt::format("the condition “{}” is true, because {} is {}", limit.text, limit.metric,
                     measured);
}

std::vector<std::string_view> namesOf(std::span<const LimitMetric> metrics) {
  std::vector<std::string_view> names;
  for (const LimitMetric& metric : metrics) names.push_back(metric.name);
  return names;
}

}  // namespace tidegauge::report
