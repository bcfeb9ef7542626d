#include "export/diff_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/format.h"
#include "base/sizes.h"

namespace tidegauge::exporting {
namespace {

using analysis::Change;
using Metric = DiffLimit::Metric;

constexpr std::pair<std::string_view, Metric> kMetrics[] = {
    {"growth", Metric::kGrowth}, {"reserved", Metric::kReserved}, {"new", Metric::kNew},
    {"gone", Metric::kGone},     {"stack", Metric::kStack},       {"change", Metric::kChange}};

base::Error unusable(const std::string& text) {
  return {base::ErrorKind::kUsage,
          fmt::format("--fail-on cannot be “{}”", text),
          {},
          "Write growth>1%, growth>=100MiB, new>0 or the like; growth, reserved, new, gone, stack "
          "and change can be limited."};
}

uint64_t above(uint64_t a, uint64_t b) { return b > a ? b - a : 0; }

uint64_t measured(Metric metric, const analysis::Diff& diff) {
  const analysis::DiffSums& sums = diff.stacks;
  switch (metric) {
    case Metric::kGrowth:
      return above(diff.a.totals.active_bytes, diff.b.totals.active_bytes);
    case Metric::kReserved:
      return above(diff.a.totals.reserved_bytes, diff.b.totals.reserved_bytes);
    case Metric::kNew:
      return sums.change_size[static_cast<size_t>(Change::kNew)];
    case Metric::kGone:
      return sums.change_size[static_cast<size_t>(Change::kGone)];
    case Metric::kStack: {
      uint64_t most = 0;
      for (const analysis::StackRow& row : diff.by_stack) {
        most = std::max(most, above(row.a.bytes, row.b.bytes));
      }
      return most;
    }
    case Metric::kChange:
      return sums.grossBytes();
  }
  return 0;
}

}  // namespace

base::Result<DiffLimit> parseDiffLimit(const std::string& text) {
  DiffLimit limit;
  limit.text = text;
  size_t sign = text.find('>');
  if (sign == std::string::npos) return unusable(text);
  auto metric = std::find_if(std::begin(kMetrics), std::end(kMetrics), [&](const auto& known) {
    return known.first == std::string_view(text).substr(0, sign);
  });
  if (metric == std::end(kMetrics)) return unusable(text);
  limit.metric = metric->second;
  std::string value = text.substr(sign + 1);
  limit.or_equal = value.starts_with('=');
  if (limit.or_equal) value.erase(0, 1);
  if (value.ends_with('%')) {
    double percent = 0;
    const char* last = value.data() + value.size() - 1;
    auto [end, error] = std::from_chars(value.data(), last, percent);
    bool usable = error == std::errc() && end == last && std::isfinite(percent) && percent >= 0;
    if (!usable) return unusable(text);
    limit.percent = percent;
    return limit;
  }
  std::optional<uint64_t> bytes = base::parseSize(value);
  if (!bytes) return unusable(text);
  limit.bytes = *bytes;
  return limit;
}

std::optional<std::string> exceeded(const DiffLimit& limit, const analysis::Diff& diff) {
  uint64_t bytes = measured(limit.metric, diff);
  uint64_t base_bytes =
      limit.metric == Metric::kReserved ? diff.a.totals.reserved_bytes : diff.a.totals.active_bytes;
  double percent = base_bytes > 0
                       ? 100.0 * static_cast<double>(bytes) / static_cast<double>(base_bytes)
                   : bytes > 0 ? HUGE_VAL
                               : 0.0;
  bool over = limit.percent ? percent > *limit.percent : bytes > limit.bytes;
  bool equal = limit.percent ? percent == *limit.percent : bytes == limit.bytes;
  if (!over && !(limit.or_equal && equal)) return std::nullopt;
  std::string_view metric = std::string_view(limit.text).substr(0, limit.text.find('>'));
  std::string share =
      std::isfinite(percent) ? fmt::format(", {:.1f} % of A", percent) : ", A holds nothing";
  return fmt::format("{}: {} is {}{}", limit.text, metric, base::humanBytes(bytes), share);
}

}  // namespace tidegauge::exporting
