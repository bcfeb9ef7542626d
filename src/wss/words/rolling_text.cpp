#include "wss/words/rolling_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text_layout.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

// 0.1, not 0.1000: only the needed decimals.
std::string inSeconds(double s) { return fmt::format("{:.6g} s", s); }

// "3 to 4", times the window.
std::string afterWhich(size_t bin, double window_s) {
  auto most = static_cast<double>(uint64_t{1} << bin);
  if (bin == Rolling::kBins - 1) return "more than " + inSeconds(most / 2 * window_s);
  if (bin < 2) return inSeconds(most * window_s);
  return fmt::format("{:.6g} to {}", (most / 2 + 1) * window_s, inSeconds(most * window_s));
}

std::string bar(double share, size_t columns) {
  std::string text;
  auto full = static_cast<size_t>(std::llround(share * static_cast<double>(columns)));
  for (size_t i = 0; i < full; ++i) text += "█";
  return text;
}

}  // namespace

std::string rollingHeader(const Rolling& rolling, double window_s) {
  std::string text = fmt::format("{:>7} {:>9}", "Time(s)", "RSS(MB)");
  for (const Rolling::Within& within : rolling.within)
    text += fmt::format(" {:>7}", inSeconds(within.windows * window_s));
  return text + fmt::format(" {:>9} {:>7} {:>9}\n", "Never(MB)", "CPU(ms)", "Stall(ms)");
}

std::string rollingText(const Row& row, const Rolling& rolling, double time_s) {
  std::string text = fmt::format("{:>7.2f} {:>9}", time_s, fitted(row.sums.rss, 9));
  for (const Rolling::Within& within : rolling.within)
    text += fmt::format(
        " {:>7}", within.is_at_least ? fitted(within.bytes, 6) + "+" : fitted(within.bytes, 7));
  return text + fmt::format(" {:>9} {:>7.1f} {:>9.1f}\n", fitted(rolling.never, 9),
                            milliseconds(row.cost.cpu_ns), milliseconds(row.cost.stall_ns));
}

std::string unseenNote(const RollingPace& pace) {
  if (pace.spacing_s <= 0) return {};
  return fmt::format(
      "Between windows {:.1f} ms on average were not watched: accesses in that time are missing.",
      pace.unseen_s * 1e3);
}

std::string paceText(const RollingPace& pace, double window_s, size_t columns) {
  if (pace.spacing_s <= 0) return {};
  std::string text = base::wrapped(unseenNote(pace), columns, 0, 2);
  if (!pace.isSlower(window_s)) return text;
  return text + base::wrapped(fmt::format("Careful: a window took {:.3g} s on average, with "
                                          "clearing and reading, where {:.3g} s stand above; "
                                          "multiply the times of headings and of reuse by {:.2g}.",
                                          pace.spacing_s, window_s, pace.spacing_s / window_s),
                              columns, 0, 2);
}

void Reuse::add(const Rolling& rolling) {
  // In the first window everything is touched for the first time, as far as is known.
  if (windows_++ == 0) return;
  first_ += rolling.first;
  for (size_t bin = 0; bin < again_.size(); ++bin) again_[bin] += rolling.again[bin];
}

std::string Reuse::text(double window_s, size_t columns) const {
  if (windows_ < 2) return {};
  auto of = static_cast<double>(windows_ - 1);
  uint64_t most = std::max(first_, *std::max_element(again_.begin(), again_.end()));
  constexpr size_t kName = 24, kNumber = 10;
  size_t width = std::clamp<size_t>(columns, 60, 100) - kName - kNumber - 4;
  std::string text =
      fmt::format("{:<{}} {:>{}}\n", "Touched again after", kName, "MB/window", kNumber);
  auto line = [&](const std::string& name, uint64_t bytes) {
    double share = most == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(most);
    std::string drawn = bar(share, width);
    text += fmt::format("  {:<{}} {:>{}.2f}{}{}\n", name, kName - 2, mib(bytes) / of, kNumber,
                        drawn.empty() ? "" : "  ", drawn);
  };
  size_t bins = again_.size();
  while (bins > 1 && again_[bins - 1] == 0) --bins;
  for (size_t bin = 0; bin < bins; ++bin) line(afterWhich(bin, window_s), again_[bin]);
  line("for the first time", first_);
  return text;
}

}  // namespace tidegauge::wss
