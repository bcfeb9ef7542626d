#include "wss/file/measurement_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/format.h"
#include "wss/units.h"
#include "wss/words/choice_text.h"
#include "wss/words/reclaim_text.h"

namespace tidegauge::wss {
namespace {

constexpr double kAnyLength_ms = 1e12;  // the file does not contain --max-stall-ms

std::vector<std::string> reclaimNotes(const Measurement& measurement) {
  size_t windows = 0;
  const Row* last = nullptr;
  for (const Measurement::Sample& sample : measurement.samples) {
    if (!sample.row.meanwhile.is_reclaimed) continue;
    windows += 1;
    last = &sample.row;
  }
  if (last == nullptr) return {};
  return measurement.head.course == "single"
             ? reclaimSentences(*last)
             : reclaimSentences(windows, measurement.samples.size(), last->meanwhile);
}

// Except for sums that its back-end never provides.
std::vector<std::string> missingNames(const Measurement& measurement) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kSums.size(); ++i)
    if (measurement.missing[i] && (measurement.head.knows_sharing || !isOfSharing(kSums[i].second)))
      names.emplace_back(kSums[i].first);
  return names;
}

}  // namespace

RollingPace Measurement::pace() const {
  if (head.course != "rolling" || samples.size() < 2) return {};
  double of_all = samples.back().time_s - samples.front().time_s, watched = 0;
  for (size_t i = 1; i < samples.size(); ++i) watched += seconds(samples[i].row.estimate_ns);
  auto count = static_cast<double>(samples.size() - 1);
  return {of_all / count, std::max(0.0, of_all - watched) / count};
}

std::vector<std::string> notesOf(const Measurement& measurement) {
  std::vector<std::string> notes;
  for (const std::string& limit : measurement.head.limits)
    notes.push_back("Careful: " + limit + ".");
  for (std::string& one : reclaimNotes(measurement)) notes.push_back(std::move(one));
  int64_t stopped_ns = 0;
  for (const Measurement::Sample& sample : measurement.samples)
    stopped_ns = std::max(stopped_ns, sample.row.cost.stopped_ns);
  notes.push_back(stallSentence({.stopped_ns = stopped_ns}, kAnyLength_ms, "the process"));
  if (notes.back().empty()) notes.pop_back();
  if (measurement.is_clock_set_back)
    notes.emplace_back(
        "The clock was set back during the measurement. From there on, the time of a row is the "
        "time of the previous row plus the duration of the row.");
  if (measurement.mappings_left_out > 0)
    notes.push_back(
        fmt::format("The list of mappings does not include the {} with the least touched memory.",
                    base::counted(measurement.mappings_left_out, "mapping")));
  if (measurement.mappings_age_s > 0)
    notes.push_back(fmt::format(
        "The mappings are {:.3g} s older than the last row, because the file was not finished.",
        measurement.mappings_age_s));
  if (std::vector<std::string> names = missingNames(measurement); !names.empty())
    notes.push_back(fmt::format("This file does not contain: {}.", fmt::join(names, ", ")));
  if (measurement.is_cut) notes.emplace_back("The file ends inside a line, which is ignored.");
  return notes;
}

}  // namespace tidegauge::wss
