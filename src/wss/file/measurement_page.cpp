#include "wss/file/measurement_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "wss/file/measurement_notes.h"
#include "wss/file/suggested_limit.h"
#include "wss/measure/grouping.h"
#include "wss/measure/places.h"
#include "wss/measure/verdict.h"
#include "wss/units.h"
#include "wss/words/fit_text.h"
#include "wss/words/heat_text.h"
#include "wss/words/json_text.h"
#include "wss/words/row_text.h"

namespace tidegauge::wss {
namespace {

using nlohmann::json;

constexpr size_t kMaxPageMappings = 500, kMaxWindows = 500, kMaxPoints = 1000, kMaxRows = 160,
                 kMaxColumns = 256;

// Touched bytes by length of window: for -P and -C each row, for --rolling the windows of the last
// row.
std::vector<Touched> curveOf(const Measurement& measurement) {
  std::vector<Touched> curve;
  const std::string& course = measurement.head.course;
  if (course == "rolling") {
    const Measurement::Sample& last = measurement.samples.back();
    double window_s = measurement.pace().windowOr(measurement.head.window_s);
    for (const Rolling::Within& within : last.rolling.within)
      curve.push_back({std::llround(within.windows * window_s * 1e9), within.bytes,
                       last.row.sums.rss, last.row.meanwhile.is_reclaimed, within.is_at_least});
  } else if (course == "profile" || course == "cumulative") {
    // A day of -C is thinned out evenly, keeping the last row: the curve keeps its shape.
    const auto& samples = measurement.samples;
    size_t step = samples.size() / kMaxPoints + 1;
    for (size_t i = (samples.size() - 1) % step; i < samples.size(); i += step) {
      curve.push_back(touchedIn(samples[i].row));
    }
  }
  return curve;
}

// The option that measures a longer window of that course.
std::string_view longerOf(const std::string& course) {
  if (course == "rolling") return "--rolling with more windows";
  return course == "cumulative" ? "-C with a longer -d" : "-P with more steps";
}

// Written bytes need not fit anywhere, and are not a working set to judge.
void addVerdict(json& page, const Measurement& measurement, const std::vector<Touched>& curve) {
  const MeasurementHead& head = measurement.head;
  const Row& last = measurement.samples.back().row;
  constexpr size_t kOneLine = 10'000;
  std::string fit;
  if (head.tells_writes) {
    fit = writesText(last, {.columns = kOneLine});
  } else {
    Verdict verdict = verdictOf(curve, longerOf(head.course));
    if (verdict.knee) page["knee"] = *verdict.knee;
    page["verdict"] = verdict.text;
    Touched most = touchedIn(last);  // in the longest window
    fit = fitText(curve.empty() ? most : curve.back(), last, head.machine, kOneLine);
  }
  if (!fit.empty()) fit.pop_back();
  page["fit"] = fit;
}

void addPace(json& page, const Measurement& measurement) {
  RollingPace pace = measurement.pace();
  double asked_s = measurement.head.window_s;
  if (std::string note = unseenNote(pace); !note.empty()) page["careful"].push_back(note);
  if (pace.isSlower(asked_s))
    page["careful"].push_back(fmt::format(
        "A window took {:.3g} s on average, including clearing and reading, instead of {:.3g} s. "
        "The profile shows the real lengths.",
        pace.spacing_s, asked_s));
}

json curveJson(const std::vector<Touched>& curve) {
  json list = json::array();
  for (const Touched& point : curve)
    list.push_back({{"window_s", seconds(point.window_ns)},
                    {"bytes", point.bytes},
                    {"at_least", point.is_reclaimed || point.misses_some}});
  return list;
}

json marksJson(const Machine& machine) {
  json list = json::array();
  for (const Place& place : placesOf(machine))
    list.push_back({{"name", place.name}, {"bytes", place.bytes}, {"words", place.words}});
  return list;
}

// The last ones, if there are many.
json windowsJson(const Measurement& measurement) {
  const auto& samples = measurement.samples;
  json list = json::array();
  for (size_t i = samples.size() - std::min(samples.size(), kMaxWindows); i < samples.size(); ++i) {
    const Row& row = samples[i].row;
    json one = {{"time_s", samples[i].time_s}, {"window_s", seconds(row.window.mean_ns)},
                {"rss", row.sums.rss},         {"referenced", row.sums.referenced},
                {"at_least", isAtLeast(row)},  {"ci95", row.error_bytes.value_or(0)}};
    if (!row.knows_error || isAtLeast(row)) one["ci95"] = nullptr;
    one["shortage"] = nullptr;
    if (samples[i].shortage) one["shortage"] = nameOf(*samples[i].shortage);
    list.push_back(std::move(one));
  }
  return list;
}

json heatJson(const Measurement& measurement) {
  HeatPicture picture = pictureOf(measurement.heat, kMaxRows, kMaxColumns);
  if (picture.rows.empty()) return nullptr;
  std::vector<std::string> names = rowNames(picture, measurement.samples.back().row.uses);
  json rows = json::array(), heat = json::array();
  for (size_t row = 0; row < picture.rows.size(); ++row) {
    rows.push_back({{"begin", base::hexAddress(picture.rows[row].begin)},
                    {"end", base::hexAddress(picture.rows[row].end)},
                    {"name", names[row]}});
    json cells = json::array();
    for (size_t x = 0; x < picture.ends_s.size(); ++x) {
      float at = picture.at(row, x);
      // A cell that was touched at all is never shown as untouched.
      cells.push_back(at < 0 ? -1 : static_cast<int>(std::ceil(at * 100)));
    }
    heat.push_back(std::move(cells));
  }
  uint64_t row_bytes =
      measurement.heat.cellBytes() * measurement.heat.addresses().size() / picture.rows.size();
  return {{"rows", std::move(rows)},
          {"ends_s", picture.ends_s},
          {"percent", std::move(heat)},
          {"row_bytes", row_bytes}};
}

// What was not touched is not known of a row whose touched memory is a lower bound.
json mappingsJson(const std::vector<Group>& groups, bool knows_huge, bool knows_cold) {
  json list = json::array();
  for (size_t i = 0; i < std::min(groups.size(), kMaxPageMappings); ++i) {
    const Group& group = groups[i];
    const MappingSums& sums = group.sums;
    uint64_t cold = sums.rss - std::min(sums.rss, sums.referenced);
    list.push_back({{"name", group.name},
                    {"kind", name(group.kind)},
                    {"start", base::hexAddress(group.start)},
                    {"rss", sums.rss},
                    {"referenced", sums.referenced},
                    {"cold", knows_cold ? json(cold) : json()},
                    {"huge", knows_huge ? json(sums.huge) : json()}});
  }
  return list;
}

}  // namespace

std::string measurementPage(const Measurement& measurement) {
  const MeasurementHead& head = measurement.head;
  json page = {{"pid", head.pid},
               {"process", head.process},
               {"backend", head.backend},
               {"how", head.how},
               {"careful", notesOf(measurement)},
               {"cgroup", head.cgroup},
               {"course", head.course},
               {"asked_s", head.window_s},
               {"tells_writes", head.tells_writes},
               {"marks", head.tells_writes ? json::array() : marksJson(head.machine)},
               {"samples", measurement.samples.size()},
               {"curve", json::array()},
               {"knee", nullptr},
               {"verdict", ""},
               {"windows", json::array()},
               {"heat", nullptr},
               {"mappings", json::array()},
               {"mappings_total", 0},
               {"fit", ""},
               {"limit", nullptr}};
  if (!measurement.samples.empty()) {
    const Row& last = measurement.samples.back().row;
    std::vector<Touched> curve = curveOf(measurement);
    page["curve"] = curveJson(curve);
    Row any = last;  // with what was not seen in any window
    for (const Measurement::Sample& sample : measurement.samples)
      any.meanwhile.unseen.add(sample.row.meanwhile.unseen);
    for (const std::string& gap : gapsOf(any)) page["careful"].push_back(gap);
    addPace(page, measurement);
    addVerdict(page, measurement, curve);
    page["windows"] = windowsJson(measurement);
    page["heat"] = heatJson(measurement);
    std::vector<Group> groups = groupsOf(last, Grouping::kMapping);
    page["mappings"] =
        mappingsJson(groups, measurement.tells(&MappingSums::huge), !isAtLeast(last));
    page["mappings_total"] = groups.size();
  }
  if (auto limit = suggestedLimit(measurement))
    page["limit"] = {{"samples", limit->samples},
                     {"bytes", limit->bytes ? json(*limit->bytes) : json()},
                     {"text", limit->text()}};
  return jsonText(page);
}

}  // namespace tidegauge::wss
