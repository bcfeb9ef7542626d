#include "wss/file/suggested_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/format.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

// Counts as a minute: clearing and reading make windows slightly longer or shorter.
constexpr double kMinWindow_s = SuggestedLimit::kWindow_s * 0.99;

// The fewest windows whose combination lasts a minute; nullptr if there are none.
const Rolling::Within* minuteOf(const Rolling& rolling, double window_s) {
  for (const Rolling::Within& within : rolling.within)
    if (within.windows * window_s >= kMinWindow_s) return &within;
  return nullptr;
}

}  // namespace

void MinuteWindows::add(const Row& row, const Rolling* rolling) {
  if (rolling == nullptr) {
    double lasted_s = seconds(row.window.mean_ns);
    if (lasted_s < kMinWindow_s) return;
    is_reclaimed_ = row.meanwhile.is_reclaimed;
    is_at_least_ = isAtLeast(row);
    push(static_cast<double>(row.sums.referenced) + row.error_bytes.value_or(0), lasted_s);
    return;
  }
  is_reclaimed_ |= row.meanwhile.is_reclaimed;
  is_at_least_ |= isAtLeast(row);
  const Rolling::Within* minute = minuteOf(*rolling, window_s_);
  if (minute == nullptr || ++windows_ < minute->windows) return;
  windows_ = 0;
  push(static_cast<double>(minute->bytes), minute->windows * window_s_);
}

void MinuteWindows::push(double touched, double lasted_s) {
  touched_.push_back(is_at_least_ ? std::numeric_limits<double>::infinity() : touched);
  reclaimed_ += std::exchange(is_reclaimed_, false);
  at_least_ += std::exchange(is_at_least_, false);
  of_all_s_ += lasted_s;
}

SuggestedLimit MinuteWindows::limit() const {
  SuggestedLimit limit{.samples = touched_.size(), .reclaimed = reclaimed_, .at_least = at_least_};
  if (limit.samples > 0) limit.window_s = of_all_s_ / static_cast<double>(limit.samples);
  if (touched_.size() < SuggestedLimit::kMinSamples) return limit;
  std::vector<double> touched = touched_;
  std::sort(touched.begin(), touched.end());
  // The smallest value that 99 of 100 do not exceed; with fewer than 100, the maximum.
  auto rank = static_cast<size_t>(std::ceil(0.99 * static_cast<double>(touched.size())));
  if (std::isinf(touched[rank - 1])) return limit;
  limit.touched = static_cast<uint64_t>(touched[rank - 1]);
  limit.bytes = static_cast<uint64_t>(touched[rank - 1] * (1 + SuggestedLimit::kMargin));
  return limit;
}

std::optional<SuggestedLimit> suggestedLimit(const Measurement& measurement) {
  const MeasurementHead& head = measurement.head;
  bool rolls = head.course == "rolling";
  if ((!rolls && head.course != "snapshots") || head.tells_writes) return std::nullopt;
  MinuteWindows minutes(head.window_s);
  for (const Measurement::Sample& sample : measurement.samples)
    minutes.add(sample.row, rolls ? &sample.rolling : nullptr);
  return minutes.limit();
}

std::string SuggestedLimit::text() const {
  if (!bytes && samples >= kMinSamples && reclaimed <= at_least / 2)
    return fmt::format(
        "wss suggests no memory limit, because the touched memory of {} of {} windows is a lower "
        "bound.",
        at_least, samples);
  if (!bytes && samples >= kMinSamples)
    return fmt::format(
        "wss suggests no memory limit, because the kernel reclaimed memory in {} of {} windows, "
        "and it is not known how much those touched. Measure with a larger limit, or with none.",
        reclaimed, samples);
  if (!bytes)
    return fmt::format(
        "wss suggests no memory limit, because that needs {} windows of {:g} s and there are {} "
        "(wss -s 0 -d 3700 PID 60).",
        kMinSamples, kWindow_s, samples);
  std::string most = base::humanBytes(*touched);
  // With this few windows, none shows what happens in one of a hundred.
  std::string why =
      samples < kSamplesOfP99
          ? fmt::format("it is {}, the most of {} windows of {:.3g} s", most, samples, window_s)
          : fmt::format(
                "in 99 of 100 windows of {:.3g} s the process touched at most {} ({} windows)",
                window_s, most, samples);
  return fmt::format(
      "A memory limit of {} is enough: {}, plus one tenth. Add memory for files that it reads "
      "without mapping them, and for the kernel's own structures.",
      base::humanBytes(*bytes), why);
}

}  // namespace tidegauge::wss
