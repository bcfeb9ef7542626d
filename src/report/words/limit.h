// --fail-on METRIC OP VALUE: a condition that must not hold, for CI. One grammar for all commands.
//
//   METRIC   one of the command's own (frag_limits.h, diff_limits.h)
//   OP       >  >=  <  <=  ==  !=         spaces around it are allowed
//   VALUE    in the metric's unit:
//              a number            score>60
//              a size              pinned>=2GiB    free<1073741824
//              a share             external>0.3    external>30%
//              a size or percent   growth>100MiB   growth>1%
//
// A share or a percentage is 0 or more.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidegauge::report {

enum class LimitUnit : uint8_t { kNumber, kBytes, kShare, kBytesOrPercent };

struct LimitMetric {
  std::string_view name;
  LimitUnit unit;
};

// For a command's list of metrics, each with a member `limit`.
template <class Metric, size_t N>
constexpr std::array<LimitMetric, N> limitsOf(const std::array<Metric, N>& metrics) {
  std::array<LimitMetric, N> limits{};
  for (size_t i = 0; i < N; ++i) limits[i] = metrics[i].limit;
  return limits;
}

struct Limit {
  enum class Op : uint8_t { kMore, kAtLeast, kLess, kAtMost, kEqual, kNotEqual };
  std::string text;    // as given
  std::string metric;  // its name
  size_t index = 0;    // of the metric, in the list that was used
  Op op = Op::kMore;
  double value = 0;      // kShare: the share, in whatever form it was written
  bool percent = false;  // kBytesOrPercent: the value is a percentage
};

// Errors (kUsage) list the metrics.
base::Result<Limit> readLimit(std::string_view text, std::span<const LimitMetric> metrics);
bool holds(const Limit& limit, double measured);
// "the condition “score>60” is true, because score is 61.2"
std::string finding(const Limit& limit, std::string_view measured);
std::vector<std::string_view> namesOf(std::span<const LimitMetric> metrics);

}  // namespace tidegauge::report
