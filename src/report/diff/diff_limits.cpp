#include "report/diff/diff_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"

namespace tidegauge::exporting {
namespace {

using analysis::Change;
using analysis::Diff;

struct Metric {
  LimitMetric limit;
  uint64_t (*read)(const Diff&);
};

uint64_t above(uint64_t a, uint64_t b) { return b > a ? b - a : 0; }

uint64_t largestGrowth(const Diff& diff) {
  uint64_t most = 0;
  for (const analysis::StackRow& row : diff.by_stack) {
    most = std::max(most, above(row.a.bytes, row.b.bytes));
  }
  return most;
}

constexpr LimitUnit kUnit = LimitUnit::kBytesOrPercent;
constexpr size_t kReserved = 1;
constexpr std::array<Metric, 6> kMetrics = {{
    {{"growth", kUnit},
     [](const Diff& d) { return above(d.a.totals.active_bytes, d.b.totals.active_bytes); }},
    {{"reserved", kUnit},
     [](const Diff& d) { return above(d.a.totals.reserved_bytes, d.b.totals.reserved_bytes); }},
    {{"new", kUnit},
     [](const Diff& d) { return d.stacks.change_size[static_cast<size_t>(Change::kNew)]; }},
    {{"gone", kUnit},
     [](const Diff& d) { return d.stacks.change_size[static_cast<size_t>(Change::kGone)]; }},
    {{"stack", kUnit}, largestGrowth},
    {{"change", kUnit}, [](const Diff& d) { return d.stacks.grossBytes(); }},
}};

constexpr auto kLimits = limitsOf(kMetrics);

}  // namespace

base::Result<DiffLimit> parseDiffLimit(const std::string& text) {
  TG_ASSIGN_OR_RETURN(Limit limit, readLimit(text, kLimits));
  return DiffLimit{std::move(limit)};
}

std::optional<std::string> exceeded(const DiffLimit& of, const Diff& diff) {
  const Limit& limit = of.limit;
  uint64_t bytes = kMetrics[limit.index].read(diff);
  const analysis::Totals& a = diff.a.totals;
  uint64_t base_bytes = limit.index == kReserved ? a.reserved_bytes : a.active_bytes;
  double percent = base_bytes > 0
                       ? 100.0 * static_cast<double>(bytes) / static_cast<double>(base_bytes)
                   : bytes > 0 ? HUGE_VAL
                               : 0.0;
  if (!holds(limit, limit.percent ? percent : static_cast<double>(bytes))) return std::nullopt;
  std::string share =
      std::isfinite(percent) ? fmt::format(", {:.1f} % of A", percent) : ", A holds nothing";
  return finding(limit, base::humanBytes(bytes) + share);
}

}  // namespace tidegauge::exporting
