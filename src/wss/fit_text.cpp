#include "wss/fit_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

std::string wordsOf(const Place& place) {
  return fmt::format("{} ({}{})", place.name, base::humanBytes(place.bytes), place.words);
}

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

}  // namespace

std::optional<size_t> profileKnee(const std::vector<Touched>& rows) {
  if (rows.size() < 2 || lossOf(rows).row != 0) return std::nullopt;
  size_t knee = kneeOf(rows);
  return knee + 1 < rows.size() ? std::optional(knee) : std::nullopt;
}

std::string profileVerdict(const std::vector<Touched>& rows) {
  if (rows.size() < 2) return {};
  const Touched &knee = rows[kneeOf(rows)], &last = rows.back();
  if (Loss loss = lossOf(rows); loss.row != 0)
    return fmt::format(
        "It gave memory back between windows: {} by the end of that of {:.3g} s. What was touched "
        "in it is missing from there on, so the curve is not comparable and has no knee.",
        base::humanBytes(loss.bytes), seconds(rows[loss.row].window_ns));
  if (last.bytes >= last.rss_bytes / 10 * 9 && last.rss_bytes > 0) {
    std::string text = fmt::format("It touches nearly all it has: {} of {}, ",
                                   base::humanBytes(last.bytes), base::humanBytes(last.rss_bytes));
    if (last.rss_bytes > rows.front().rss_bytes / 10 * 11)
      return text + fmt::format("and gets more ({} in the first window).",
                                base::humanBytes(rows.front().rss_bytes));
    return text + fmt::format("{:.3g} s are enough for that; a longer window adds nothing.",
                              seconds(knee.window_ns));
  }
  if (&knee != &last)
    return fmt::format("After {:.3g} s little is added: {} there, {} in the longest window.",
                       seconds(knee.window_ns), base::humanBytes(knee.bytes),
                       base::humanBytes(last.bytes));
  return "It still grows in the longest window: a longer one (-P with more steps) will tell more.";
}

std::string fitText(const Touched& touched, const Machine& machine, size_t columns) {
  std::vector<Place> places = placesOf(machine);
  if (places.empty()) return {};
  auto first = std::find_if(places.begin(), places.end(),
                            [&](const Place& place) { return touched.bytes <= place.bytes; });
  std::string text = fmt::format("{} touched in {:.3g} s:", base::humanBytes(touched.bytes),
                                 seconds(touched.window_ns));
  if (first != places.begin()) text += " more than " + wordsOf(*std::prev(first));
  if (first != places.begin() && first != places.end()) text += ",";
  if (first != places.end()) text += " within " + wordsOf(*first);
  return base::wrapped(text + ".", columns, 0, 2);
}

std::string profileText(const std::vector<Touched>& rows, const Machine& machine, size_t columns) {
  if (rows.size() < 2) return {};
  uint64_t most = 0;
  for (const Touched& row : rows) most = std::max(most, row.bytes);
  if (most == 0) return "Nothing was touched.\n";
  constexpr size_t kFigures = 24;
  size_t width = std::clamp<size_t>(columns, 50, 110) - kFigures;
  auto at = [&](uint64_t bytes) {
    return static_cast<size_t>(static_cast<double>(bytes) / static_cast<double>(most) *
                               static_cast<double>(width - 1));
  };
  std::vector<Place> lines = placesOf(machine);
  std::erase_if(lines, [&](const Place& place) { return place.bytes > most; });
  std::string text = fmt::format("{:>9} {:>11}\n", "Window(s)", "Ref(MB)");
  for (const Touched& row : rows) {
    text += fmt::format("{:>9.3f} {:>11.2f}  ", seconds(row.window_ns), mib(row.bytes));
    std::string bar;
    size_t full = at(row.bytes) + 1, used = 0;
    for (size_t x = 0; x < width; ++x) {
      bool is_line = std::any_of(lines.begin(), lines.end(),
                                 [&](const Place& place) { return at(place.bytes) == x; });
      bar += is_line ? "│" : x < full && row.bytes > 0 ? "█" : " ";
      if (is_line || x < full) used = bar.size();
    }
    text += bar.substr(0, used) + "\n";
  }
  std::string names;
  for (const Place& place : lines) names += (names.empty() ? "│ " : ", ") + wordsOf(place);
  if (!names.empty()) text += base::wrapped(names, columns, 0, 2);
  return text + base::wrapped(profileVerdict(rows), columns, 0, 2);
}

}  // namespace tidegauge::wss
