// The section "replay": whether the allocator's rules explain the recording, and the effect of
// other settings.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "report/story/report_parts.h"
#include "report/what_if/outcome_words.h"
#include "report/what_if/result_words.h"
#include "report/what_if/what_if_text.h"

namespace tidegauge::report {
namespace {

using analysis::Replayed;
using base::humanBytes;
using base::withCommas;
using nlohmann::json;

constexpr size_t kShown = 4;  // candidates in the grid

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
      plain(differsWords(it)),
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
  Sentence sentence;
  sentence.sql = fmt::format(
      "SELECT settings, ooms, least_ooms, most_ooms, peak_reserved_bytes, forecast_from_step FROM "
      "{} WHERE place < 2",
      from);
  sentence.link = Link{"what-if", "What if", {}};
  sentence.parts = bestOutcome(report);
  if (auto step = report.candidates.front().forecast_from)
    sentence.parts.push_back(plain(" " + forecastWords(*step)));
  return sentence;
}

// Nothing that was tried is noticeably better than the recording's own settings.
Sentence noneSentence(const analysis::WhatIf& report, const std::string& from) {
  Sentence sentence;
  sentence.link = Link{"what-if", "What if", {}};
  sentence.sql = fmt::format(
      "SELECT count(*) AS settings, min(fewer) AS least_fewer, max(fewer) AS most_fewer, (SELECT "
      "peak_active_bytes FROM {0} WHERE place = 0) AS peak_active_bytes, (SELECT "
      "reserved_at_start_bytes FROM {0} WHERE place = 0) AS reserved_at_start_bytes, (SELECT "
      "available_bytes FROM {0} WHERE place = 0) AS available_bytes FROM (SELECT (SELECT "
      "coalesce(least_ooms, ooms) FROM {0} WHERE place = 0) - coalesce(most_ooms, ooms) AS fewer "
      "FROM {0} WHERE place > 0) WHERE fewer > 0",
      from);
  sentence.parts = noneOutcome(report);
  if (report.helps_from)
    sentence.parts.push_back(plain(" `tidegauge whatif` prints from which limit on."));
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
  sentence.parts = {plain(fmt::format("{}: {}.", placementWords(), fmt::join(ranges, ", ")))};
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
                         withSpaces(settingsName(it.conf)) + mark});
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
