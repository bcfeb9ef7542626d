// The section "replay": whether the allocator's rules explain the recording, and the effect of
// other settings.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "report/story/report_parts.h"
#include "report/what_if/what_if_text.h"

namespace tidegauge::report {
namespace {

using analysis::Replayed;
using base::humanBytes;
using base::withCommas;
using nlohmann::json;

constexpr size_t kShown = 4;  // candidates in the grid

std::string nameOf(const Replayed& it) {
  return it.conf.empty() ? std::string("default settings") : it.conf;
}

Sentence provenSentence(const SectionContext& context, const std::string& from) {
  const replay::Verification& it = context.proof->what_if.verified;
  Sentence sentence;
  sentence.sql = fmt::format(
      "SELECT events_exact, events_checked, first_difference_step, "
      "events_checked - events_exact FROM {}",
      from);
  if (it.events_exact == it.events_checked) {
    sentence.parts = {
        plain("The replay reproduces all "), strong(withCommas(it.events_checked)),
        plain(" events, with the same addresses. A replay with other settings therefore follows "
              "the allocator's real rules.")};
    return sentence;
  }
  sentence.parts = {
      plain("The replay differs from the recording in "),
      strong(withCommas(it.events_checked - it.events_exact)),
      plain(" of "),
      plain(base::counted(it.events_checked, "event")),
      plain(it.first_divergence
                ? fmt::format(", first at step {} ({})", withCommas(it.first_divergence->step),
                              replay::words(it.first_divergence->cause))
                : std::string()),
      plain(it.checked_until < context.summary.device->device.steps()
                ? ". That is too often to continue, so results for other settings are guesses."
                : ". Results for other settings are estimates.")};
  return sentence;
}

Sentence bestSentence(const analysis::WhatIf& report, const std::string& from) {
  const Replayed &own = report.own, &best = report.candidates.front();
  Sentence sentence;
  sentence.sql = fmt::format(
      "SELECT settings, ooms, least_ooms, most_ooms, peak_reserved_bytes, forecast_from_step FROM "
      "{} WHERE place < 2",
      from);
  sentence.link = Link{"what-if", "What if", {}};
  sentence.parts = {plain("The result is best with "), code(nameOf(best)), plain(": ")};
  bool is_real = report.ownIsAsRecorded();
  if (own.mostOoms() > 0)
    sentence.parts.push_back(
        plain(fmt::format("{} ({} {}), and ", failsWords(best), failedWords(own),
                          is_real ? "did in the recording" : "would with its own settings")));
  sentence.parts.insert(
      sentence.parts.end(),
      {plain("peak reserved memory is "), strong(humanBytes(best.peakReservedBytes())),
       plain(best.rescued > 0 ? " or more instead of " : " instead of "),
       plain(humanBytes(own.peakReservedBytes())), plain(".")});
  if (best.forecast_from)
    sentence.parts.push_back(plain(fmt::format(" The result is a forecast from step {} on.",
                                               withCommas(*best.forecast_from))));
  return sentence;
}

// Nothing that was tried is noticeably better than the recording's own settings.
Sentence noneSentence(const analysis::WhatIf& report, const std::string& from) {
  const Replayed& own = report.own;
  Sentence sentence;
  sentence.link = Link{"what-if", "What if", {}};
  sentence.sql = fmt::format(
      "SELECT count(*) - 1, min(ooms) FILTER (WHERE place > 0), "
      "max(peak_active_bytes) FILTER (WHERE place = 0) FROM {}",
      from);
  std::string tried = base::counted(report.candidates.size(), "other setting");
  if (!report.isProven()) {
    sentence.parts = {plain("Tidegauge recommends none of "), plain(tried),
                      plain(", because the allocator's rules do not explain this recording.")};
  } else if (own.reserved_at_start_bytes > report.availableBytes().value_or(UINT64_MAX)) {
    sentence.sql = fmt::format(
        "SELECT count(*) - 1, max(reserved_at_start_bytes), max(available_bytes) FROM {}", from);
    sentence.parts = {plain(fmt::format(
        "{} were reserved before the recording began. On a device of {}, this program would not "
        "have come so far with any of {}.",
        humanBytes(own.reserved_at_start_bytes), humanBytes(*report.availableBytes()), tried))};
  } else if (own.mostOoms() == 0) {
    sentence.parts = {plain("None of "), plain(tried),
                      plain(" lowers peak reserved memory noticeably.")};
  } else if (report.helps_from) {
    sentence.parts = {
        plain("None of "), plain(tried),
        plain(" helps under the lowest limit that explains this recording. A higher limit "
              "explains it as well, and under it "),
        code(report.helps_from->conf.empty() ? "default settings" : report.helps_from->conf),
        plain(" would help; `tidegauge whatif` prints from which limit on.")};
  } else if (auto could_have = report.availableBytes();
             could_have && own.peakActiveBytes() > *could_have / 10 * 9) {
    sentence.parts = {
        plain(fmt::format("None of {} helps. At the peak, {} were in active blocks. The program "
                          "needs {}, or it must hold less.",
                          tried, humanBytes(own.peakActiveBytes()),
                          report.limit_bytes ? "a higher limit" : "more memory"))};
  } else if (const Replayed& best = report.candidates.front();
             !report.candidates.empty() && !best.stopped_at && best.mostOoms() < own.leastOoms()) {
    sentence.sql = fmt::format("SELECT count(*) - 1, min(coalesce(most_ooms, ooms)) FROM {}", from);
    sentence.parts = {
        plain(fmt::format("With the best of {}, more requests succeed, but {} still fail.", tried,
                          withCommas(best.mostOoms())))};
  } else {
    sentence.parts = {plain("With none of "), plain(tried), plain(" do more requests succeed.")};
  }
  return sentence;
}

std::string rangeText(const Replayed& it) {
  std::string text = it.leastReservedBytes() == it.mostReservedBytes()
                         ? humanBytes(it.mostReservedBytes())
                         : fmt::format("{} to {}", humanBytes(it.leastReservedBytes()),
                                       humanBytes(it.mostReservedBytes()));
  if (it.leastOoms() != it.mostOoms()) text += ", " + failsWords(it);
  return text;
}

// If ties are broken by address: for the recording's own settings and the best.
std::optional<Sentence> rangeSentence(const analysis::WhatIf& report, const std::string& from) {
  std::vector<std::string> ranges;
  if (report.own.hasRange()) ranges.push_back("with its own settings " + rangeText(report.own));
  if (report.best_helps && report.candidates.front().hasRange())
    ranges.push_back("with the best setting " + rangeText(report.candidates.front()));
  if (ranges.empty()) return std::nullopt;
  Sentence sentence;
  sentence.sql = fmt::format(
      "SELECT least_peak_reserved_bytes, most_peak_reserved_bytes, least_ooms, most_ooms FROM {} "
      "WHERE place < 2",
      from);
  sentence.parts = {
      plain(fmt::format("This version of PyTorch takes the lowest address among free blocks of "
                        "equal size, so the peak depends on where the driver places segments: {}.",
                        fmt::join(ranges, ", ")))};
  return sentence;
}

Sentence fitSentence(const analysis::FitFactor& fit, const std::string& from) {
  Sentence sentence;
  sentence.sql = fmt::format(
      "SELECT factor, batch, batch_of, step, scaling_bytes, constant_bytes, parameter_bytes, "
      "optimizer_bytes, gradient_bytes, communication_bytes, older_bytes, never_freed_bytes, "
      "least_factor FROM {}",
      from);
  for (const std::string& text : fitSentences(fit)) sentence.parts.push_back(plain(text));
  return sentence;
}

std::string fitTable(int device, std::optional<uint64_t> capacity_bytes) {
  return capacity_bytes ? fmt::format("fit_factor_at({}, {})", device, *capacity_bytes)
                        : fmt::format("fit_factor({})", device);
}

Grid gridOf(const analysis::WhatIf& report, const std::string& from) {
  Grid grid;
  grid.heads = {"failed", "peak reserved", "unused at peak", "driver calls", "settings"};
  auto add = [&](const Replayed& it, const char* mark) {
    grid.rows.push_back({withCommas(it.stats.ooms), humanBytes(it.peakReservedBytes()),
                         humanBytes(it.unused_at_peak_bytes), withCommas(it.driverCalls()),
                         withSpaces(nameOf(it)) + mark});
  };
  add(report.own, report.ownIsAsRecorded() ? "  ← as recorded" : "  ← its own");
  size_t shown = std::min(kShown, report.candidates.size());
  for (size_t i = 0; i < shown; ++i) add(report.candidates[i], "");
  grid.more = report.candidates.size() - shown;
  grid.sql = fmt::format(
      "SELECT ooms, peak_reserved_bytes, unused_at_peak_bytes, driver_allocs + driver_frees, "
      "settings FROM {}",
      from);
  grid.link = Link{"what-if", "What if", {}};
  grid.whole_names = true;
  return grid;
}

json rowJson(const analysis::WhatIf& report, const Replayed& it, size_t place) {
  auto range = [&](auto figure) {
    return it.peak_reserved_range ? json((*it.peak_reserved_range).*figure) : json();
  };
  auto available_bytes = report.availableBytes();
  using analysis::PlacementRange;
  return {{"place", place},
          {"settings", it.conf},
          {"ooms", it.stats.ooms},
          {"least_ooms", range(&PlacementRange::least_ooms)},
          {"most_ooms", range(&PlacementRange::most_ooms)},
          {"peak_reserved_bytes", it.peakReservedBytes()},
          {"least_peak_reserved_bytes", range(&PlacementRange::least_bytes)},
          {"most_peak_reserved_bytes", range(&PlacementRange::most_bytes)},
          {"peak_active_bytes", it.peakActiveBytes()},
          {"unused_at_peak_bytes", it.unused_at_peak_bytes},
          {"retries", it.stats.retries},
          {"driver_allocs", it.stats.driver_allocs},
          {"driver_frees", it.stats.driver_frees},
          {"rescued", it.rescued},
          {"forecast_from_step", it.forecast_from ? json(*it.forecast_from) : json()},
          {"reserved_at_start_bytes", it.reserved_at_start_bytes},
          {"available_bytes", available_bytes ? json(*available_bytes) : json()}};
}

}  // namespace

std::string replaysTable(int device, std::optional<uint64_t> capacity_bytes) {
  return capacity_bytes ? fmt::format("replays_at({}, {})", device, *capacity_bytes)
                        : fmt::format("replays({})", device);
}

std::optional<Sentence> fitSentence(const SectionContext& context) {
  if (context.proof == nullptr || !context.proof->what_if.fit) return std::nullopt;
  const analysis::FitFactor& fit = *context.proof->what_if.fit;
  if (!fit.is_proven) return std::nullopt;
  int device = context.summary.device->device.ordinal;
  Sentence sentence = fitSentence(fit, fitTable(device, context.capacity_bytes));
  return sentence.parts.empty() ? std::nullopt : std::optional(std::move(sentence));
}

Section replaySection(const SectionContext& context) {
  Section section{.key = "replay", .title = "Replay: the effect of other settings", .json = {}};
  if (context.proof == nullptr) return section;
  int device = context.summary.device->device.ordinal;
  std::string proven = fmt::format("proven({})", device),
              from = replaysTable(device, context.capacity_bytes);
  const analysis::WhatIf& report = context.proof->what_if;
  section.sentences.push_back(provenSentence(context, proven));
  section.sentences.push_back(report.best_helps ? bestSentence(report, from)
                                                : noneSentence(report, from));
  if (auto range = rangeSentence(report, from)) section.sentences.push_back(std::move(*range));
  if (auto fit = fitSentence(context)) section.sentences.push_back(std::move(*fit));
  // A grid of equal rows shows nothing.
  if (report.best_helps || report.own.mostOoms() > 0) section.grid = gridOf(report, from);
  const replay::Verification& it = report.verified;
  section.json = {
      {"events_checked", it.events_checked},
      {"events_exact", it.events_exact},
      {"first_difference_step", it.first_divergence ? json(it.first_divergence->step) : json()},
      {"cause", it.first_divergence ? json(replay::words(it.first_divergence->cause)) : json()},
      {"began_empty", it.began_empty ? 1 : 0},
      {"final_segments", it.final_segments},
      {"final_segments_differing", it.final_differences},
      {"best", report.best_helps ? json(report.candidates.front().conf) : json()},
      {"sql", fmt::format("SELECT * FROM {}", proven)},
      {"fit", fitJson(report.fit)},
      {"rows", json::array()},
      {"rows_sql", fmt::format("SELECT * FROM {}", from)}};
  if (report.fit)
    section.json["fit"]["sql"] =
        fmt::format("SELECT * FROM {}", fitTable(device, context.capacity_bytes));
  section.json["rows"].push_back(rowJson(report, report.own, 0));
  for (size_t i = 0; i < report.candidates.size(); ++i)
    section.json["rows"].push_back(rowJson(report, report.candidates[i], i + 1));
  return section;
}

}  // namespace tidegauge::report
