#include "wss/measurement_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tidegauge::wss {
namespace {

// Searched for room in rows in which memory was short.
uint64_t searchedBytes(const Measurement& measurement) {
  uint64_t bytes = 0;
  for (const Measurement::Sample& sample : measurement.samples)
    if (sample.pressure && sample.pressure->shortage != Shortage::kNone)
      bytes += sample.pressure->scanned_bytes;
  return bytes;
}

// But for those that its back-end tells of no process.
std::vector<std::string> untoldNames(const Measurement& measurement) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kSums.size(); ++i)
    if (measurement.untold[i] && (measurement.head.knows_sharing || !isOfSharing(kSums[i].second)))
      names.emplace_back(kSums[i].first);
  return names;
}

}  // namespace

std::vector<std::string> notesOf(const Measurement& measurement) {
  std::vector<std::string> notes;
  for (const std::string& limit : measurement.head.limits)
    notes.push_back("Careful: " + limit + ".");
  if (uint64_t bytes = searchedBytes(measurement); bytes > 0)
    notes.push_back(shortageNote(bytes, measurement.head.pressure_cgroup));
  if (measurement.is_clock_set_back)
    notes.emplace_back(
        "The clock was set back meanwhile: from there on a row ends as long after the one before "
        "as "
        "it took.");
  if (std::vector<std::string> names = untoldNames(measurement); !names.empty())
    notes.push_back(fmt::format("Not told by this file: {}.", fmt::join(names, ", ")));
  if (measurement.is_cut) notes.emplace_back("The file ends within a line, which was left out.");
  return notes;
}

}  // namespace tidegauge::wss
