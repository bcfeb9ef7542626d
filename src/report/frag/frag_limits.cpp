#include "report/frag/frag_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.h"

namespace tidegauge::report {
namespace {

using Read = double (*)(const FragReport&);

struct Metric {
  LimitMetric limit;
  Read read;
};

template <uint64_t analysis::FreeSums::*kField>
double freeBytes(const FragReport& report) {
  return static_cast<double>(report.now.sample.sums.free.*kField);
}

constexpr std::array<Metric, 16> kMetrics = {{
    {{"score", LimitUnit::kNumber},
     [](const FragReport& r) { return scoreOf(r.now.sample, r.arena).score; }},
    {{"forecast", LimitUnit::kNumber},
     // of the best model, the highest; without a forecast: the current score
     [](const FragReport& r) {
       if (!r.forecast.enough) return scoreOf(r.now.sample, r.arena).score;
       const analysis::Predicted& predicted = r.forecast.of(r.forecast.best).predicted;
       return *std::max_element(predicted.begin(), predicted.end());
     }},
    {{"external", LimitUnit::kShare},
     [](const FragReport& r) { return r.now.sample.sums.free.external(); }},
    {{"external_by_segment", LimitUnit::kShare},
     [](const FragReport& r) { return r.now.sample.sums.free.externalBySegment(); }},
    {{"free", LimitUnit::kBytes}, freeBytes<&analysis::FreeSums::bytes>},
    {{"scattered", LimitUnit::kBytes},
     [](const FragReport& r) {
       return static_cast<double>(r.now.sample.sums.free.scatteredBytes());
     }},
    {{"pinned", LimitUnit::kBytes}, freeBytes<&analysis::FreeSums::pinned_bytes>},
    {{"releasable", LimitUnit::kBytes}, freeBytes<&analysis::FreeSums::releasable_bytes>},
    {{"held_in_pools", LimitUnit::kBytes}, freeBytes<&analysis::FreeSums::held_in_pools_bytes>},
    {{"largest_hole", LimitUnit::kBytes}, freeBytes<&analysis::FreeSums::largest_bytes>},
    {{"stranded", LimitUnit::kBytes}, freeBytes<&analysis::FreeSums::stranded_bytes>},
    {{"holes", LimitUnit::kNumber}, freeBytes<&analysis::FreeSums::holes>},
    {{"waste", LimitUnit::kBytes},
     [](const FragReport& r) { return static_cast<double>(r.now.sample.sums.waste_bytes); }},
    {{"reserved", LimitUnit::kBytes},
     [](const FragReport& r) { return static_cast<double>(r.now.sample.totals.reserved_bytes); }},
    {{"active", LimitUnit::kBytes},
     [](const FragReport& r) { return static_cast<double>(r.now.sample.totals.active_bytes); }},
    {{"unfit", LimitUnit::kNumber},  // 1: no list of the main pool serves --request
     [](const FragReport& r) { return r.rulesKnown() && !r.served() ? 1.0 : 0.0; }},
}};

constexpr auto kLimits = limitsOf(kMetrics);

}  // namespace

std::vector<std::string_view> limitMetrics() { return namesOf(kLimits); }

base::Result<FragLimit> parseLimit(std::string_view text) {
  TG_ASSIGN_OR_RETURN(Limit limit, readLimit(text, kLimits));
  return FragLimit(std::move(limit));
}

double FragLimit::valueOf(const FragReport& report) const {
  return kMetrics[limit_.index].read(report);
}

std::string FragLimit::sentence(const FragReport& report) const {
  double value = valueOf(report);
  switch (kMetrics[limit_.index].limit.unit) {
    case LimitUnit::kNumber:
      return finding(limit_, fmt::format("{:.4g}", value));
    case LimitUnit::kShare:
      return finding(limit_, fmt::format("{:.1f} %", 100 * value));
    default:
      return finding(limit_, base::humanBytes(static_cast<uint64_t>(value)));
  }
}

}  // namespace tidegauge::report
