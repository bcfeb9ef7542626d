#include "export/frag_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/format.h"
#include "base/sizes.h"

namespace tidegauge::exporting {
namespace {

using Read = double (*)(const FragReport&);

struct Metric {
  std::string_view name;
  LimitUnit unit;
  Read read;
};

template <uint64_t analysis::FreeSums::*field>
double freeBytes(const FragReport& report) {
  return static_cast<double>(report.now.sample.sums.free.*field);
}

constexpr std::array<Metric, 15> kMetrics = {{
    {"score", LimitUnit::kNumber,
     [](const FragReport& r) { return scoreOf(r.now.sample, r.arena).score; }},
    {"forecast", LimitUnit::kNumber,
     [](const FragReport& r) {  // of the best model, the highest; without a forecast: as now
       if (!r.forecast.enough) return scoreOf(r.now.sample, r.arena).score;
       const analysis::Predicted& predicted = r.forecast.of(r.forecast.best).predicted;
       return *std::max_element(predicted.begin(), predicted.end());
     }},
    {"external", LimitUnit::kShare,
     [](const FragReport& r) { return r.now.sample.sums.free.external(); }},
    {"external_by_segment", LimitUnit::kShare,
     [](const FragReport& r) { return r.now.sample.sums.free.externalBySegment(); }},
    {"free", LimitUnit::kBytes, freeBytes<&analysis::FreeSums::bytes>},
    {"scattered", LimitUnit::kBytes,
     [](const FragReport& r) {
       return static_cast<double>(r.now.sample.sums.free.scatteredBytes());
     }},
    {"pinned", LimitUnit::kBytes, freeBytes<&analysis::FreeSums::pinned_bytes>},
    {"releasable", LimitUnit::kBytes, freeBytes<&analysis::FreeSums::releasable_bytes>},
    {"largest_hole", LimitUnit::kBytes, freeBytes<&analysis::FreeSums::largest_bytes>},
    {"stranded", LimitUnit::kBytes, freeBytes<&analysis::FreeSums::stranded_bytes>},
    {"holes", LimitUnit::kNumber, freeBytes<&analysis::FreeSums::holes>},
    {"waste", LimitUnit::kBytes,
     [](const FragReport& r) { return static_cast<double>(r.now.sample.sums.waste_bytes); }},
    {"reserved", LimitUnit::kBytes,
     [](const FragReport& r) { return static_cast<double>(r.now.sample.totals.reserved_bytes); }},
    {"active", LimitUnit::kBytes,
     [](const FragReport& r) { return static_cast<double>(r.now.sample.totals.active_bytes); }},
    {"unfit", LimitUnit::kNumber,  // 1: no list of the main pool serves --request
     [](const FragReport& r) { return r.rulesKnown() && !r.served() ? 1.0 : 0.0; }},
}};

const Metric* find(std::string_view name) {
  for (const Metric& metric : kMetrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::optional<double> parseNumber(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> parseValue(LimitUnit unit, std::string_view text) {
  if (unit == LimitUnit::kBytes) {
    std::optional<uint64_t> bytes = base::parseSize(text);
    return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
  }
  if (unit == LimitUnit::kShare && text.ends_with('%')) {
    std::optional<double> percent = parseNumber(trimmed(text.substr(0, text.size() - 1)));
    return percent ? std::optional(*percent / 100) : std::nullopt;
  }
  return parseNumber(text);
}

base::Error unusable(std::string_view text, std::string hint) {
  return {base::ErrorKind::kUsage,
          fmt::format("--fail-on takes METRIC OP VALUE, not “{}”", text),
          {},
          std::move(hint)};
}

}  // namespace

std::vector<std::string_view> limitMetrics() {
  std::vector<std::string_view> names;
  for (const Metric& metric : kMetrics) names.push_back(metric.name);
  return names;
}

base::Result<FragLimit> parseLimit(std::string_view text) {
  size_t at = text.find_first_of("<>=!");
  if (at == std::string_view::npos) return unusable(text, "As in: score>60, pinned>=2GiB");
  size_t end = at + (at + 1 < text.size() && text[at + 1] == '=' ? 2 : 1);
  FragLimit limit;
  limit.text_ = text;
  limit.metric_ = trimmed(text.substr(0, at));
  limit.op_ = text.substr(at, end - at);
  const Metric* metric = find(limit.metric_);
  if (metric == nullptr) {
    return unusable(text, fmt::format("The metrics are: {}", fmt::join(limitMetrics(), ", ")));
  }
  constexpr std::array<std::string_view, 6> kOps = {">", ">=", "<", "<=", "==", "!="};
  if (std::find(kOps.begin(), kOps.end(), limit.op_) == kOps.end()) {
    return unusable(text, fmt::format("The comparisons are: {}", fmt::join(kOps, ", ")));
  }
  std::optional<double> value = parseValue(metric->unit, trimmed(text.substr(end)));
  if (!value) {
    constexpr std::array<std::string_view, 3> kForms = {"a number as in 60", "a size as in 2GiB",
                                                        "a share as in 0.3 or 30%"};
    return unusable(text, fmt::format("{} is compared with {}", metric->name,
                                      kForms[static_cast<size_t>(metric->unit)]));
  }
  limit.value_ = *value;
  return limit;
}

double FragLimit::valueOf(const FragReport& report) const { return find(metric_)->read(report); }

bool FragLimit::isBroken(const FragReport& report) const {
  double value = valueOf(report);
  if (op_ == ">") return value > value_;
  if (op_ == ">=") return value >= value_;
  if (op_ == "<") return value < value_;
  if (op_ == "<=") return value <= value_;
  return (value == value_) == (op_ == "==");
}

std::string FragLimit::sentence(const FragReport& report) const {
  double value = valueOf(report);
  std::string shown;
  switch (find(metric_)->unit) {
    case LimitUnit::kBytes:
      shown = base::humanBytes(static_cast<uint64_t>(value));
      break;
    case LimitUnit::kShare:
      shown = fmt::format("{:.1f} %", 100 * value);
      break;
    case LimitUnit::kNumber:
      shown = fmt::format("{:.4g}", value);
      break;
  }
  return fmt::format("{} is {}: “{}” holds", metric_, shown, text_);
}

}  // namespace tidegauge::exporting
