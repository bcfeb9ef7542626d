#include "wss/words/fit_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/measure/verdict.h"
#include "wss/pages/repeats.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kFewFaults_bytes = uint64_t{1} << 20;

std::string wordsOf(const Place& place) {
  return fmt::format("{} ({}{})", place.name, base::humanBytes(place.bytes), place.words);
}

// "36 µs", "0.104 s"
std::string shortTime(int64_t ns) {
  return ns < 1'000'000 ? fmt::format("{} µs", ns / 1000) : fmt::format("{:.3g} s", seconds(ns));
}

// A page of a file is charged to the cgroup that read it first. So a cgroup that is far from its
// limit may have processes that touch more.
bool isChargedElsewhere(const Row& row) {
  const Meanwhile& meanwhile = row.meanwhile;
  return meanwhile.limit_bytes > 0 && meanwhile.charged_bytes < meanwhile.limit_bytes / 10 * 9;
}

}  // namespace

std::string fitText(const Touched& touched, const Row& row, const Machine& machine,
                    size_t columns) {
  std::vector<Place> places = placesOf(machine);
  if (places.empty()) return {};
  if (row.meanwhile.didNotRun())
    return base::wrapped(
        fmt::format("The process did not run in this window of {:.3g} s, so it shows nothing of "
                    "what the process needs.",
                    seconds(row.window.mean_ns)),
        columns, 0, 2);
  Bounds bounds = boundsOf(touched.bytes, row);
  std::string text = fmt::format(
      "{} were touched in {:.3g} s",
      base::humanBytes(bounds.most_bytes || !row.knows_error ? touched.bytes : bounds.least_bytes),
      seconds(touched.window_ns));
  if (!bounds.most_bytes && row.knows_error)
    text = "At least " + text;
  else if (!row.once && row.repeated_bytes > kFewRepeats)
    text = "At most " + text;
  if (auto ran_ns = row.meanwhile.work.ran_ns)
    text += fmt::format(" ({} of CPU time)", shortTime(*ran_ns));
  if (!row.knows_error) return base::wrapped(text + ".", columns, 0, 2);
  const Place* below = nullptr;
  const Place* above = nullptr;
  for (const Place& place : places) {
    bool is_limit = place.name == kLimitName;
    if (place.bytes < bounds.least_bytes && !(is_limit && isChargedElsewhere(row))) below = &place;
    if (above == nullptr && bounds.most_bytes && place.bytes >= *bounds.most_bytes) above = &place;
  }
  if (below != nullptr) text += ", more than " + wordsOf(*below);
  if (above != nullptr) text += (below != nullptr ? " and within " : ", within ") + wordsOf(*above);
  text += ".";
  // A few faults are usual. More is said where Ref would mislead.
  // While memory is reclaimed, most are for pages that are mapped anew.
  if (uint64_t fresh = newMemory(row);
      !row.meanwhile.is_reclaimed && fresh > std::max(touched.bytes / 4, kFewFaults_bytes))
    text += fmt::format(
        " About {} of memory were new in the window ({} minor page faults); what of it was freed "
        "is in no figure.",
        base::humanBytes(fresh), base::withCommas(*row.meanwhile.work.minor_faults));
  return base::wrapped(text, columns, 0, 2);
}

std::string profileText(const std::vector<Touched>& rows, const Machine& machine, size_t columns) {
  if (rows.size() < 2) return {};
  uint64_t most = 0;
  for (const Touched& row : rows) most = std::max(most, row.bytes);
  std::string verdict = verdictOf(rows, "-P with more steps").text;
  if (most == 0) return verdict + "\n";
  constexpr size_t kFigures = 24;
  size_t width = std::clamp<size_t>(columns, 50, 110) - kFigures;
  auto at = [&](uint64_t bytes) {
    return static_cast<size_t>(static_cast<double>(bytes) / static_cast<double>(most) *
                               static_cast<double>(width - 1));
  };
  std::vector<Place> lines = placesOf(machine);
  std::erase_if(lines, [&](const Place& place) { return place.bytes > most; });
  bool is_reclaimed = std::ranges::any_of(rows, &Touched::is_reclaimed);
  // Ref is what of it is resident at the end.
  std::string text =
      fmt::format("{:>9} {:>11}\n", "Window(s)", is_reclaimed ? "Touched(MB)" : "Ref(MB)");
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
  if (is_reclaimed)
    text += base::wrapped(
        "Touched includes memory that was reclaimed before its window ended, if it was seen.",
        columns, 0, 2);
  return text + base::wrapped(verdict, columns, 0, 2);
}

}  // namespace tidegauge::wss
