#include "wss/measure/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

// The largest decrease of resident or touched bytes between consecutive windows, if it exceeds a
// twentieth, which the kernel may reclaim at any time.
struct Loss {
  size_t row = 0;  // 0: none
  uint64_t bytes = 0;
};
Loss lossOf(const std::vector<Touched>& rows, uint64_t Touched::*of) {
  Loss loss;
  for (size_t i = 1; i < rows.size(); ++i) {
    uint64_t before = rows[i - 1].*of, now = rows[i].*of;
    if (now < before && before - now > before / 20 && before - now > loss.bytes)
      loss = {i, before - now};
  }
  return loss;
}

// Why the windows cannot be compared.
std::optional<std::string> notComparable(const std::vector<Touched>& rows) {
  auto after = [&](const Loss& loss) { return seconds(rows[loss.row].window_ns); };
  if (Loss loss = lossOf(rows, &Touched::rss_bytes); loss.row != 0)
    return fmt::format(
        "The process freed {} between windows, by the end of the window of {:.3g} s. Pages "
        "touched there are missing from then on, so the windows are not comparable and there is "
        "no knee.",
        base::humanBytes(loss.bytes), after(loss));
  if (Loss loss = lossOf(rows, &Touched::bytes); loss.row != 0)
    return fmt::format(
        "In the window of {:.3g} s, {} less was touched than in the one before, although as much "
        "is resident. Something else clears accessed bits (reclaim, DAMON), so the windows are "
        "not comparable and there is no knee.",
        after(loss), base::humanBytes(loss.bytes));
  return std::nullopt;
}

// Nearly all resident memory is touched; absent: less is.
std::optional<Verdict> ofAllThereIs(const std::vector<Touched>& rows, size_t knee) {
  const Touched& last = rows.back();
  if (last.rss_bytes == 0 || last.bytes < last.rss_bytes / 10 * 9) return std::nullopt;
  std::string text = fmt::format("The process touches nearly all of its memory ({} of {}), ",
                                 base::humanBytes(last.bytes), base::humanBytes(last.rss_bytes));
  if (last.rss_bytes > rows.front().rss_bytes / 10 * 11)
    return Verdict{{},
                   text + fmt::format("and it grows ({} in the first window).",
                                      base::humanBytes(rows.front().rss_bytes))};
  return Verdict{knee, text + fmt::format("within {:.3g} s. A longer window adds nothing.",
                                          seconds(rows[knee].window_ns))};
}

}  // namespace

Verdict verdictOf(const std::vector<Touched>& rows, std::string_view longer) {
  if (rows.size() < 2) return {};
  if (std::ranges::any_of(rows, &Touched::is_reclaimed))
    return {{},
            "The kernel reclaimed memory during the measurement, so the windows are not comparable "
            "and there is no knee."};
  if (std::ranges::any_of(rows, &Touched::misses_some))
    return {{}, "Some touches are not seen here, so there is no knee."};
  if (std::ranges::all_of(rows, [](const Touched& row) { return row.bytes == 0; }))
    return {{}, "Nothing was touched."};
  if (auto why = notComparable(rows)) return {{}, *why};
  size_t knee = kneeOf(rows);
  if (auto all = ofAllThereIs(rows, knee)) return *all;
  if (knee + 1 < rows.size())
    return {
        knee,
        fmt::format("Windows longer than {:.3g} s add little: {} touched in this window, {} in the "
                    "longest.",
                    seconds(rows[knee].window_ns), base::humanBytes(rows[knee].bytes),
                    base::humanBytes(rows.back().bytes))};
  return {{},
          fmt::format(
              "The touched memory still grows in the longest window. Measure longer windows ({}).",
              longer)};
}

}  // namespace tidegauge::wss
