#include "wss/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

// How much less is touched, or there, in a window than in the one before. The largest such loss, if it is
// more than what the kernel itself takes away here and there: a twentieth.
struct Loss {
  size_t row = 0;  // 0: none
  uint64_t bytes = 0;
};
Loss lossOf(const std::vector<Touched>& rows) {
  auto lost = [](uint64_t before, uint64_t now) {
    return now < before && before - now > before / 20 ? before - now : 0;
  };
  Loss loss;
  for (size_t i = 1; i < rows.size(); ++i) {
    uint64_t touched = lost(rows[i - 1].bytes, rows[i].bytes),
             there = lost(rows[i - 1].rss_bytes, rows[i].rss_bytes);
    if (uint64_t bytes = std::max(touched, there); bytes > loss.bytes) loss = {i, bytes};
  }
  return loss;
}

// Nearly all that is there is touched; nothing: less is.
std::optional<Verdict> ofAllThereIs(const std::vector<Touched>& rows, size_t knee) {
  const Touched& last = rows.back();
  if (last.rss_bytes == 0 || last.bytes < last.rss_bytes / 10 * 9) return std::nullopt;
  std::string text = fmt::format("It touches nearly all it has: {} of {}, ",
                                 base::humanBytes(last.bytes), base::humanBytes(last.rss_bytes));
  if (last.rss_bytes > rows.front().rss_bytes / 10 * 11)
    return Verdict{{},
                   text + fmt::format("and gets more ({} in the first window).",
                                      base::humanBytes(rows.front().rss_bytes))};
  return Verdict{knee,
                 text + fmt::format("{:.3g} s are enough for that; a longer window adds nothing.",
                                    seconds(rows[knee].window_ns))};
}

}  // namespace

Verdict verdictOf(const std::vector<Touched>& rows, std::string_view longer) {
  if (rows.size() < 2) return {};
  if (std::ranges::all_of(rows, [](const Touched& row) { return row.bytes == 0; }))
    return {{}, "Nothing was touched."};
  if (Loss loss = lossOf(rows); loss.row != 0)
    return {{},
            fmt::format("It gave memory back between windows: {} by the end of that of {:.3g} s. "
                        "What was touched in it is missing from there on, so the curve is not "
                        "comparable and has no knee.",
                        base::humanBytes(loss.bytes), seconds(rows[loss.row].window_ns))};
  size_t knee = kneeOf(rows);
  if (auto all = ofAllThereIs(rows, knee)) return *all;
  if (knee + 1 < rows.size())
    return {knee, fmt::format("After {:.3g} s little is added: {} there, {} in the longest window.",
                              seconds(rows[knee].window_ns), base::humanBytes(rows[knee].bytes),
                              base::humanBytes(rows.back().bytes))};
  return {{},
          fmt::format("It still grows in the longest window: a longer one ({}) will tell more.",
                      longer)};
}

}  // namespace tidegauge::wss
