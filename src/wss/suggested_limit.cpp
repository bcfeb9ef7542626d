#include "wss/suggested_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

// What was clearly meant as a minute: clearing and reading make windows a little longer or shorter.
constexpr double kLeastWindow_s = SuggestedLimit::kWindow_s * 0.99;

// The fewest windows that are told together and are a minute; nothing: none are.
std::optional<size_t> minuteOf(const Rolling& rolling, double window_s) {
  for (size_t i = 0; i < rolling.within.size(); ++i)
    if (rolling.within[i].windows * window_s >= kLeastWindow_s) return i;
  return std::nullopt;
}

// Each stands for a minute of its own.
std::vector<double> minutesOf(const Measurement& measurement) {
  std::vector<double> touched;
  const std::string& course = measurement.head.course;
  size_t windows = 0;  // of a rolling measurement, since the last that was taken
  for (const Measurement::Sample& sample : measurement.samples) {
    if (course == "rolling") {
      auto which = minuteOf(sample.rolling, measurement.head.window_s);
      if (!which) continue;
      if (++windows < sample.rolling.within[*which].windows) continue;
      windows = 0;
      touched.push_back(static_cast<double>(sample.rolling.within[*which].bytes));
    } else if (course == "snapshots" && seconds(sample.row.window.mean_ns) >= kLeastWindow_s) {
      touched.push_back(static_cast<double>(sample.row.sums.referenced) +
                        sample.row.error_bytes.value_or(0));
    }
  }
  return touched;
}

}  // namespace

SuggestedLimit suggestedLimit(const Measurement& measurement) {
  std::vector<double> touched = minutesOf(measurement);
  SuggestedLimit limit{.samples = touched.size()};
  if (touched.size() < SuggestedLimit::kLeastSamples) return limit;
  std::sort(touched.begin(), touched.end());
  // The least that 99 of 100 do not exceed.
  auto rank = static_cast<size_t>(std::ceil(0.99 * static_cast<double>(touched.size())));
  limit.p99 = static_cast<uint64_t>(touched[rank - 1]);
  limit.bytes = static_cast<uint64_t>(touched[rank - 1] * (1 + SuggestedLimit::kMargin));
  return limit;
}

std::string SuggestedLimit::text() const {
  if (!bytes)
    return fmt::format(
        "No memory limit is suggested: that takes {} windows of {:g} s, and here are {} (wss -s 0 "
        "-d 3700 PID 60).",
        kLeastSamples, kWindow_s, samples);
  return fmt::format(
      "A memory limit of {} would do: in 99 of 100 windows of {:g} s it touched {} at the most, of "
      "{} windows, and a tenth more. Files that it reads without mapping them, and what the kernel "
      "holds for it, come on top.",
      base::humanBytes(*bytes), kWindow_s, base::humanBytes(*p99), samples);
}

}  // namespace tidegauge::wss
