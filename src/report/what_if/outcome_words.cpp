#include "report/what_if/outcome_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/format.h"
#include "report/what_if/result_words.h"

namespace tidegauge::report {
namespace {

using analysis::Replayed;
using analysis::WhatIf;
using Parts = std::vector<Part>;

constexpr size_t kNamed = 3;  // settings that help too little

// "one more request", "1 to 3 more requests"
std::string moreRequests(uint64_t least, uint64_t most) {
  if (least < most)
    return fmt::format("{} to {} more requests", base::withCommas(least), base::withCommas(most));
  return most == 1 ? "one more request" : base::withCommas(most) + " more requests";
}

std::string tooLittleWords(const WhatIf& report, const std::vector<const Replayed*>& found) {
  uint64_t least = UINT64_MAX, most = 0;
  for (const Replayed* it : found) {
    uint64_t more = report.own.leastOoms() - it->mostOoms();
    least = std::min(least, more);
    most = std::max(most, more);
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(kNamed, found.size()); ++i)
    names.push_back(withSpaces(settingsName(found[i]->conf)));
  if (found.size() > kNamed) names.push_back("…");
  return fmt::format("{} {} {} succeed, but not all: {}.", base::counted(found.size(), "setting"),
                     found.size() == 1 ? "lets" : "let", moreRequests(least, most),
                     fmt::join(names, "; "));
}

// Nearly all memory is in active blocks; empty: it is not, or something else helps.
std::string fullWords(const WhatIf& report) {
  auto could_have = report.availableBytes();
  if (!could_have || hasRemedy(report) || report.own.peakActiveBytes() <= *could_have / 10 * 9)
    return {};
  return fmt::format(
      " At the peak, {} of {}{} were in active blocks. The program needs {}, or it must hold less.",
      base::humanBytes(report.own.peakActiveBytes()),
      report.may_be_unmapped && report.unmapped_bytes == 0 ? "at most " : "",
      base::humanBytes(*could_have), report.limit_bytes ? "a higher limit" : "more memory");
}

}  // namespace

Parts bestOutcome(const WhatIf& report) {
  const Replayed &own = report.own, &best = report.candidates.front();
  Parts parts{plain("The result is best with "), code(withSpaces(settingsName(best.conf))),
              plain(": ")};
  if (own.mostOoms() > 0)
    parts.push_back(plain(fmt::format("{} ({} {}), and ", failsWords(best), failedWords(own),
                                      asBeforeWords(report, "would with its own settings"))));
  parts.push_back(plain(peakOf(report, best) + "."));
  return parts;
}

Parts noneOutcome(const WhatIf& report) {
  if (!report.isProven())
    return {
        plain("Tidegauge recommends no setting, because the allocator's rules do not explain "
              "this recording.")};
  if (isImpossible(report)) return {plain(impossibleWords(report))};
  if (report.own.mostOoms() == 0)
    return {plain("No tested setting lowers peak reserved memory noticeably.")};
  if (report.helps_from)
    return {plain("No tested setting helps under the lowest limit that explains this recording. A "
                  "higher limit explains it as well, and under it "),
            code(withSpaces(settingsName(report.helps_from->conf))), plain(" would help.")};
  std::vector<const Replayed*> found = analysis::tooLittle(report);
  if (!found.empty()) return {plain(tooLittleWords(report, found) + fullWords(report))};
  if (hasRemedy(report)) return {plain("No tested allocator setting helps instead.")};
  std::string full = fullWords(report);
  return {plain(full.empty() ? "No tested setting lets more requests succeed."
                             : "No tested setting helps." + full)};
}

std::string fromLimitWords(const WhatIf& report) {
  if (!report.helps_from || !report.limit_bytes) return {};
  const WhatIf::FromLimit& from = *report.helps_from;
  return fmt::format(
      "The file does not contain that limit exactly: it was {} to {}. From {} on, {} would fail "
      "with {}.",
      mibWords(*report.limit_bytes), mibWords(*report.limit_most_bytes), mibWords(from.limit_bytes),
      from.ooms == 0 ? "no request" : base::counted(from.ooms, "request"),
      withSpaces(settingsName(from.conf)));
}

}  // namespace tidegauge::report
